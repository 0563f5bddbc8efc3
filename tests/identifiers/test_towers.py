"""Fine-tuning learns what the judgments say, keeps its best epoch, and starts from what was there."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from rars import unfinished
from rars.config import FitSettings
from rars.errors import RarsError
from rars.identifiers import towers
from rars.identifiers.fitting import ResidualMaps
from rars.identifiers.nearest import nearest
from rars.identifiers.towers import Held, Lessons, PairBatch, Pairs, TwoTowers, loss, tune
from rars.unfinished import Unfinished

from .worlds import judged_shop

ITEMS, QUERIES, DIM = 40, 60, 8


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Query n wants item n mod 40 (grade 3) and its neighbour (grade 1); the last 20 are for validation."""
    items = [f"thing {n}" for n in range(ITEMS)]
    queries = [f"q{n}" for n in range(QUERIES)]
    judged = [(f"q{n}", f"i{n % ITEMS}", 3.0) for n in range(QUERIES)]
    judged += [(f"q{n}", f"i{(n + 1) % ITEMS}", 1.0) for n in range(QUERIES)]
    splits = ["train"] * 40 + ["validation"] * 20
    folder = tmp_path_factory.mktemp("world") / "data"
    return judged_shop(folder, items, queries, judged, splits)


@pytest.fixture(scope="module")
def turned():
    """Item vectors, and query vectors that are the same ones turned by a rotation: a map can undo it."""
    rng = np.random.default_rng(0)
    items = rng.normal(size=(ITEMS, DIM)).astype(np.float32)
    rotation = np.linalg.qr(rng.normal(size=(DIM, DIM)))[0].astype(np.float32)
    return items[np.arange(QUERIES) % ITEMS] @ rotation, items


def held(world, quality=None):
    """Share of validation queries whose first result is their grade-3 item."""
    rows = world.queries_in("validation")

    def first(found):
        return float(np.mean([found.row(i)[0][0] == q % ITEMS for i, q in enumerate(rows)]))

    return Held(rows, quality or first)


def settings(**more):
    return FitSettings(
        **{"epochs": 30, "learning_rate": 0.03, "batch": 32, "temperature": 0.1, **more}
    )


def maps_of(turned):
    return ResidualMaps(turned[0], np.arange(QUERIES), turned[1])


def test_shares_are_relevance_over_the_querys_sum(world):
    pairs = Pairs.of(world)
    assert len(pairs) == 80  # of training queries alone
    assert pairs.share[pairs.query == 3].tolist() == [0.75, 0.25]


def test_relevant_marks_equal_a_plain_lookup():
    rng = np.random.default_rng(1)
    known = sorted({(int(q), int(i)) for q, i in rng.integers(0, 12, size=(50, 2))})
    query, item = np.array(known).T
    pairs = Pairs(query, item, np.ones(len(query), np.float32))
    queries, items = np.array([0, 3, 4, 11]), np.array([1, 2, 5, 9, 10])
    wanted = [[(q, i) in known for i in items.tolist()] for q in queries.tolist()]
    assert pairs.relevant(queries, items).tolist() == wanted


def test_the_loss_equals_a_plain_computation(world):
    """Weighted by share; the other relevant item of a query is not among its negatives."""
    pairs = Pairs.of(world)
    chosen = np.array([0, 1, 2, 7, 40])
    batch = PairBatch.of(pairs, chosen)
    generator = torch.Generator().manual_seed(0)
    queries = torch.randn(len(batch.queries), DIM, generator=generator)
    items = torch.randn(len(batch.items), DIM, generator=generator)
    known = set(zip(pairs.query.tolist(), pairs.item.tolist(), strict=True))
    total = weight = 0.0
    for pair in chosen.tolist():
        q, d = int(pairs.query[pair]), int(pairs.item[pair])
        vector = queries[batch.queries.tolist().index(q)]
        scores = {
            i: float(torch.cosine_similarity(vector, items[n], dim=0)) / 0.2
            for n, i in enumerate(batch.items.tolist())
        }
        below = sum(math.exp(s) for i, s in scores.items() if i == d or (q, i) not in known)
        total += float(pairs.share[pair]) * (math.log(below) - scores[d])
        weight += float(pairs.share[pair])
    assert float(loss(queries, items, batch, 0.2)) == pytest.approx(total / weight, rel=1e-5)


def test_a_batch_without_negatives_has_a_gradient_of_zero(world):
    batch = PairBatch.of(
        Pairs.of(world), np.array([0, 1])
    )  # both items are relevant to the one query
    queries = torch.ones(1, DIM, requires_grad=True)
    value = loss(queries, torch.eye(DIM)[:2], batch, 0.05)
    value.backward()
    assert value.item() == 0
    assert queries.grad.abs().max() == 0


def test_untrained_maps_change_nothing(turned):
    maps = maps_of(turned)
    rows = np.array([5, 1])
    np.testing.assert_array_equal(maps.queries(rows).detach().numpy(), turned[0][rows])
    np.testing.assert_array_equal(maps.items(rows).detach().numpy(), turned[1][rows])


def test_maps_learn_to_undo_a_rotation(world, turned):
    """Validation queries are found by what was learned on others; the report says how much better."""
    maps, seen = maps_of(turned), []
    report = tune(
        maps, world, settings(), held(world), advance=lambda done, total: seen.append((done, total))
    )
    before, after = report["quality"][0], report["quality"][report["epoch"]]
    assert before < 0.3
    assert after > 0.8
    assert after == max(report["quality"])
    assert len(report["quality"]) == 31
    assert seen[-1] == (90, 90)  # 80 pairs in batches of 32, 30 epochs
    found = nearest(
        towers.embedded(maps.queries, world.queries_in("validation")),
        towers.embedded(maps.items, np.arange(ITEMS)),
        10,
        cosine=True,
    )
    assert held(world).quality(found) == pytest.approx(after)


def test_where_training_only_harms_nothing_is_changed(world, turned):
    calls = []

    def falling(found):
        calls.append(found)
        return -float(len(calls))

    maps = maps_of(turned)
    report = tune(maps, world, settings(epochs=2), held(world, falling))
    assert report == {"epoch": 0, "quality": [-1.0, -2.0, -3.0]}
    assert maps.query_map.abs().max() == 0


def test_the_same_seed_gives_the_same_maps(world, turned):
    found = []
    for seed in (3, 3, 4):
        maps = maps_of(turned)
        tune(maps, world, settings(epochs=2), held(world), seed=seed)
        found.append(maps.query_map.detach().numpy())
    assert (found[0] == found[1]).all()
    assert (found[0] != found[2]).any()


def test_a_large_catalogue_is_validated_on_a_sample_with_all_judged_items(world):
    pool = towers._pool(world, seed=0, most=25)
    judged = set(world.judged("validation").item.tolist())
    assert len(pool) == 25
    assert judged < set(pool.tolist())
    assert (np.diff(pool) > 0).all()


def test_validation_speaks_of_catalogue_rows(world, turned):
    """Ranked among a sample, the results are still numbers of the whole catalogue."""
    seen = []
    pool = towers._pool(world, seed=0, most=25)
    towers._quality(maps_of(turned), held(world, lambda found: seen.append(found) or 0.0), pool)
    assert set(seen[0].items.tolist()) == set(pool.tolist())


def test_divergence_is_one_sentence(world):
    class Broken(TwoTowers):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(DIM))

        def queries(self, rows):
            return self.weight.expand(len(rows), DIM) * (math.nan if self.training else 1)

        items = queries

    with pytest.raises(RarsError, match=r"lower its learning_rate"):
        tune(Broken(), world, settings(), held(world))


def test_without_training_pairs_there_is_nothing_to_tune_on(tmp_path):
    dataset = judged_shop(tmp_path / "data", ["x"], ["q"], [("q0", "i0", 3)], ["test"])
    with pytest.raises(RarsError, match="no training query with a positive item"):
        Pairs.of(dataset)


def test_drawn_epochs_have_one_pair_of_every_query_by_its_share(world):
    """Over many epochs a query's pairs come as often as their shares say."""
    pairs, rng = Pairs.of(world), np.random.default_rng(0)
    lessons, seen = Lessons(drawn=True), np.zeros(len(pairs))
    assert lessons.count(pairs) == 40
    for _ in range(400):
        place = towers._draw(pairs, rng)
        assert pairs.query[place].tolist() == list(range(40))
        seen[place] += 1
    grade3 = pairs.share > 0.5
    assert seen[grade3].mean() == pytest.approx(300, abs=12)
    assert seen[~grade3].mean() == pytest.approx(100, abs=12)
    batches = list(lessons.epoch(pairs, 16, rng))
    assert [len(one.query) for one in batches] == [16, 16, 8]
    assert all((one.share == 1).all() for one in batches)


def test_hard_negatives_stand_in_their_batch_and_no_positive_is_one(world):
    """Query 3 gets two items to tell apart; query 4 one that is relevant to it, which is no negative."""
    pairs = Pairs.of(world)
    hard = np.full((QUERIES, 2), -1)
    hard[3], hard[4, 0] = [20, 21], 5
    [batch] = Lessons(hard=hard).epoch(pairs, 1000, np.random.default_rng(0))
    assert len(batch.items) == ITEMS  # 41 items are in pairs, 20 and 21 among them
    chosen = np.flatnonzero(pairs.query == 3)
    small = PairBatch.of(pairs, chosen, extra=hard[3])
    assert small.items.tolist() == [3, 4, 20, 21]
    assert small.relevant.tolist() == [[True, True, False, False]]
    both = np.flatnonzero(pairs.query == 4)
    kept = PairBatch.of(pairs, both, extra=hard[4][:1])
    assert kept.items.tolist() == [4, 5]
    assert kept.relevant.all()


def test_inner_products_instead_of_cosines():
    """With one pair and one other item: log(1 + exp(other - own)) of the plain products."""
    pairs = Pairs(np.array([0]), np.array([1]), np.ones(1, np.float32))
    batch = PairBatch.of(pairs, np.array([0]), extra=np.array([0]))
    queries, items = torch.tensor([[2.0, 0]]), torch.tensor([[3.0, 1], [1, 5]])
    value = loss(queries, items, batch, 2.0, cosine=False)
    assert float(value) == pytest.approx(math.log1p(math.exp(3 - 1)), rel=1e-6)


class Dropping(ResidualMaps):
    """Maps whose steps draw random numbers, as a pre-trained encoder's do."""

    def queries(self, rows):
        return torch.nn.functional.dropout(super().queries(rows), 0.3, self.training)


@pytest.mark.parametrize("at", [1, 2, 3, 5, 6, 9])
def test_a_killed_tuning_goes_on_to_the_same_bits(world, turned, tmp_path, at, monkeypatch):
    """Three epochs of three steps, killed before and after every kind of step."""
    monkeypatch.setattr(unfinished, "_SHARE", math.inf)  # kept at every step
    own = settings(epochs=3)

    def towers():
        return Dropping(turned[0], np.arange(QUERIES), turned[1])

    whole = towers()
    wanted = tune(whole, world, own, held(world), seed=5)

    def kill(done, total):
        if done == at:
            raise KeyboardInterrupt

    def place():
        return Unfinished.of("test", "tuning", cache=tmp_path, seconds=0.0)

    killed = towers()
    with pytest.raises(KeyboardInterrupt), place() as kept:
        tune(killed, world, own, held(world), seed=5, kept=kept, advance=kill)
    torch.manual_seed(99)  # another process has other generators
    seen = []
    resumed = towers()
    with place() as kept:
        found = tune(
            resumed, world, own, held(world), seed=5, kept=kept, advance=lambda n, _: seen.append(n)
        )
    assert seen[0] == at, "what was done is not done again, but for the step in hand"
    assert found == wanted
    for name, value in whole.state_dict().items():
        assert torch.equal(value, resumed.state_dict()[name]), name
