"""Ranking terms, soft labels and position weights equal their equations, written out as loops."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from rars.errors import RarsError
from rars.model.batch import Candidates
from rars.objectives import full_sid, margin_ranking, position_aware, prefix_ranking
from rars.objectives.common import Context, Ground
from rars.objectives.full_sid import FullSidSettings
from rars.objectives.margin_ranking import MarginSettings
from rars.objectives.position_aware import PositionAwareSettings, SoftLabels
from rars.objectives.prefix_ranking import PrefixSettings
from rars.training.candidates import Mined, packed_lists, with_relevant
from rars.training.loop import TrainingModel
from rars.training.packing import Drawn, pack, pack_lists
from rars.tree.kinship import kinship
from tests.model.small import Example, retriever, terms

pytestmark = pytest.mark.usefixtures("float64")


def ready(seed=0, **kinds):
    example = Example(seed, latent=False, **kinds)
    model = retriever(example.vocabulary.slots, "t5", dropout_rate=0.0)
    batch = pack(example.data(with_siblings=True), np.arange(len(example.tokens)))
    return example, model, batch, model(batch)


def listed(example, model, found, seed=1):
    """Lists of all queries: their relevant items and up to four drawn ones, ranked as drawn; and scores."""
    rng = np.random.default_rng(seed)
    asked = np.repeat(np.arange(7), 6)
    mined = Mined(asked, rng.integers(0, 60, len(asked)), np.tile(np.arange(6), 7))
    data = example.data(with_siblings=True)
    lists = packed_lists(data, example.relevance, with_relevant(example.relevance, mined, 4))
    packed = pack_lists(lists, np.arange(7))
    scores, logits = TrainingModel(model, terms("full-sid"))._scores(found, packed, None)
    return packed, scores, logits


def paths(example, items):
    """The codes of items, up to where each ends."""
    return [tuple(c for c in example.codes[i].tolist() if c >= 0) for i in items]


# -- position weights ------------------------------------------------------------------------------


@pytest.mark.parametrize("ragged", [False, True])
def test_the_code_at_position_l_counts_l_to_the_minus_a(ragged):
    example, _, batch, found = ready(ragged=ragged)
    expected = 0.0
    for depth, (logits, step) in enumerate(zip(found.logits, batch.refinements, strict=True)):
        for edge in range(len(step.slot)):
            log_p = torch.log_softmax(logits[step.parent[edge]], 0)[step.slot[edge]]
            expected = expected - step.pairs[edge] * log_p / math.sqrt(depth + 1)
    total = full_sid.loss(found, batch, Context(), FullSidSettings(position_power=0.5))
    torch.testing.assert_close(total.mean, expected / len(example.pairs))
    plain = full_sid.loss(found, batch, Context(), FullSidSettings()).mean
    assert plain > total.mean


# -- soft labels -----------------------------------------------------------------------------------


@pytest.mark.parametrize("ragged", [False, True])
def test_siblings_are_as_far_apart_as_the_means_of_the_items_below_them(ragged):
    example = Example(latent=False, ragged=ragged)
    vectors = np.random.default_rng(0).normal(size=(60, 5))
    known = [tuple(row) for row in example.codes.tolist()]
    for depth, kin in enumerate(kinship(example.tree, example.vocabulary, vectors)):
        nodes = example.tree.paths(depth + 1, np.arange(example.tree.n_nodes(depth + 1)))
        for node, path in enumerate(map(tuple, nodes.tolist())):
            siblings = sorted({one[: depth + 1] for one in known if one[:depth] == path[:depth]})
            means = {
                one: np.mean([vectors[i] for i, c in enumerate(known) if c[: depth + 1] == one], 0)
                for one in siblings
            }
            at = slice(kin.start[node], kin.start[node + 1])
            assert kin.slot[at].tolist() == [
                int(example.vocabulary.slot(one[-1], depth)) for one in siblings
            ]
            expected = [np.linalg.norm(means[one] - means[path]) for one in siblings]
            np.testing.assert_allclose(kin.apart[at], expected, atol=1e-6)


@pytest.mark.parametrize("normaliser", ["depth", "children"])
@pytest.mark.parametrize("ragged", [False, True])
def test_position_aware_soft_labels_equal_explicit_loops(normaliser, ragged):
    example, model, batch, found = ready(ragged=ragged)
    vectors = np.random.default_rng(0).normal(size=(60, 5))
    kin = kinship(example.tree, example.vocabulary, vectors)
    settings = PositionAwareSettings(smoothing=0.2, temperature=0.5)
    labels = position_aware.soft_labels(model, settings, Ground(kin=kin))
    context = Context(head=labels, normaliser=normaliser)
    known = [tuple(row) for row in example.codes.tolist()]
    expected = 0.0
    for depth, (logits, step) in enumerate(zip(found.logits, batch.refinements, strict=True)):
        weight = (3 - depth) / 2  # T - t + 1 over its mean, of three positions
        for edge in range(len(step.slot)):
            parent, node = int(step.parent[edge]), int(step.node[edge])
            path = tuple(example.tree.paths(depth + 1, np.array([node]))[0].tolist())
            siblings = sorted({one[: depth + 1] for one in known if one[:depth] == path[:depth]})
            slots = [int(example.vocabulary.slot(one[-1], depth)) for one in siblings]
            means = [
                np.mean([vectors[i] for i, c in enumerate(known) if c[: depth + 1] == one], 0)
                for one in siblings
            ]
            own = means[siblings.index(path)]
            near = np.array([math.exp(-np.linalg.norm(mean - own) / 0.5) for mean in means])
            target = 0.2 * near / near.sum()
            target[siblings.index(path)] += 0.8
            row = logits[parent]
            if normaliser == "children":
                kept = torch.full_like(row, float("-inf"))
                kept[slots] = row[slots]
                row = kept
            log_p = torch.log_softmax(row, 0)
            cross = -sum(y * log_p[slot] for y, slot in zip(target, slots, strict=True))
            expected = expected + weight * step.pairs[edge] * cross
    loss = position_aware.loss(found, batch, context, settings).mean
    torch.testing.assert_close(loss, expected / len(example.pairs), atol=1e-6, rtol=1e-6)


def test_without_smoothing_and_with_even_weights_it_is_full_sid(monkeypatch):
    example, _, batch, found = ready()
    kin = kinship(example.tree, example.vocabulary, np.random.default_rng(0).normal(size=(60, 5)))
    context = Context(head=SoftLabels(Ground(kin=kin), 1.0))
    hard = PositionAwareSettings(smoothing=0.0)
    monkeypatch.setattr(position_aware, "position_weights", lambda length: [1.0] * length)
    torch.testing.assert_close(
        position_aware.loss(found, batch, context, hard).mean,
        full_sid.loss(found, batch, context, FullSidSettings()).mean,
    )


def test_soft_labels_read_drawn_pairs_alone():
    """Where pairs are drawn, only the way to them is decoded; siblings come from the labels themselves."""
    example, model, _, _ = ready()
    data = example.data(with_siblings=False)
    kin = kinship(example.tree, example.vocabulary, np.random.default_rng(0).normal(size=(60, 5)))
    listed_terms = terms("position-aware")
    trained = TrainingModel(model, listed_terms, ground=Ground(kin=kin))
    whole = Drawn(np.array([0, 3]), np.flatnonzero(np.isin(data.pairs.query, [0, 3]))[::2])
    batch = pack(data, whole.queries, whole=whole, reads=trained.reads)
    loss, means = trained(batch, seed=0)
    assert loss == means["position-aware"]
    assert torch.isfinite(loss)
    assert not any("share" in name for name in trained.state_dict()), "labels are not kept"
    assert not list(trained.heads.parameters())


# -- margins over lists (LTRGR) --------------------------------------------------------------------


def candidates(query, mass, rank, gain=None, edge=None):
    """Lists written by hand; only what ranking terms read."""
    n = len(query)
    return Candidates(
        query=torch.tensor(query),
        item=torch.arange(n),
        mass=torch.tensor(mass),
        gain=torch.tensor(mass if gain is None else gain),
        rank=torch.tensor(rank),
        edge=torch.zeros(n, 1, dtype=torch.long) if edge is None else torch.tensor(edge),
        positions=torch.zeros(0),
        visible=torch.zeros(0),
        refinements=(),
    )


def on_lists(term, lists, settings, *, scores=None, logits=None, weight=(1.0, 1.0)):
    batch = dataclasses.make_dataclass("B", ["weight", "n_queries"])(
        torch.tensor(weight), sum(weight)
    )
    context = Context(candidates=lists, scores=scores, logits=logits)
    return term.loss(None, batch, context, settings).mean


def test_ltrgr_takes_the_first_of_each_kind_and_all_pairs():
    """Query 0: relevant items at places 4 and 1, others at 0 and 2. Query 1 found no relevant one."""
    lists = candidates(
        [0, 0, 0, 0, 1, 1, 1],
        [0.5, 0.5, 0.0, 0.0, 0.6, 0.4, 0.0],
        [4, 1, 0, 2, -1, -1, 0],
    )
    scores = torch.tensor([[-1.0], [-3.0], [-2.0], [-5.0], [-4.0], [-2.0], [-2.5]])
    settings = MarginSettings(top_margin=1.0, random_margin=1.5)
    # First of each kind: places 1 and 0, so -3 against -2; in query 1 the better of those not found, -2.
    top = [max(0, 1 - (-3 + 2)), max(0, 1 - (-2 + 2.5))]
    every = [
        [max(0, 1.5 - (a - b)) for a in (-1, -3) for b in (-2, -5)],
        [max(0, 1.5 - (a + 2.5)) for a in (-4, -2)],
    ]
    expected = sum(0.5 * t + 0.5 * np.mean(e) for t, e in zip(top, every, strict=True)) / 2
    found = on_lists(margin_ranking, lists, settings, scores=scores)
    assert found.item() == pytest.approx(expected)
    alone = on_lists(margin_ranking, lists, MarginSettings(top_share=1.0), scores=scores)
    assert alone.item() == pytest.approx(sum(top) / 2)


def test_a_query_without_others_or_without_relevant_items_counts_nothing():
    lists = candidates([0, 1, 1], [1.0, 0.0, 0.0], [0, 0, 1])
    scores = torch.tensor([[-9.0], [-1.0], [-1.0]])
    assert on_lists(margin_ranking, lists, MarginSettings(), scores=scores) == 0


@given(seed=st.integers(0, 30))
def test_ltrgr_equals_explicit_loops(seed):
    torch.set_default_dtype(torch.float64)
    rng = np.random.default_rng(seed)
    query = np.sort(rng.integers(0, 4, 14))
    mass = rng.choice([0.0, 0.0, 0.3, 0.7], 14)
    rank = rng.permutation(14)
    score = rng.normal(size=14)
    weight = rng.uniform(0.5, 2, 4)
    settings = MarginSettings(top_margin=0.7, random_margin=1.1, top_share=0.3)
    expected = 0.0
    for q in range(4):
        right = [i for i in range(14) if query[i] == q and mass[i] > 0]
        wrong = [i for i in range(14) if query[i] == q and mass[i] == 0]
        if not right or not wrong:
            continue
        first = [min(one, key=lambda i: rank[i]) for one in (right, wrong)]
        top = max(0, 0.7 - (score[first[0]] - score[first[1]]))
        rest = np.mean([max(0, 1.1 - (score[a] - score[b])) for a in right for b in wrong])
        expected += weight[q] * (0.3 * top + 0.7 * rest)
    lists = candidates(query.tolist(), mass.tolist(), rank.tolist())
    found = on_lists(
        margin_ranking, lists, settings, scores=torch.tensor(score)[:, None], weight=tuple(weight)
    )
    assert found.item() == pytest.approx(expected / weight.sum())


# -- prefixes by raw logits (RIPOR) ----------------------------------------------------------------


@pytest.mark.parametrize("ragged", [False, True])
@pytest.mark.parametrize("lengths", [(), (1,), (1, 2), (1, 2, 3), (2, 3)])
def test_ripor_equals_enumerated_prefixes(ragged, lengths):
    example, model, _, found = ready(ragged=ragged)
    lists, _, logits = listed(example, model, found)
    settings = PrefixSettings(lengths=lengths, factors=(0.5, 0.75, 0.875), scale=2.0)
    grade = {(q, i): rho for q, i, rho in example.pairs}
    codes = paths(example, lists.item.tolist())
    asked = lists.query.tolist()
    used = lengths or (3,)
    expected = 0.0
    for q in range(7):
        own = [at for at in range(len(asked)) if asked[at] == q]
        for length in used:
            factor = settings.factors[length - 1] / settings.factors[max(used) - 1]
            prefix = {at: codes[at][:length] for at in own}

            def teacher(one, q=q, length=length):
                below = [i for i in range(60) if paths(example, [i])[0][:length] == one]
                return 2.0 * max(grade.get((q, i), 0.0) for i in below)

            goal = {at: factor * teacher(prefix[at]) for at in own}
            # The logits of codes after the end of an identifier are 0, as a search adds none.
            score = {at: sum(logits[at, depth] for depth in range(length)) for at in own}
            best = [at for at in own if goal[at] == max(goal.values())]
            errors = [
                ((score[a] - score[b]) - (goal[a] - goal[b])) ** 2
                for a in best
                for b in own
                if prefix[a] != prefix[b]
            ]
            expected = expected + (sum(errors) / len(errors) if errors else 0.0)
    loss = on_lists(prefix_ranking, lists, settings, logits=logits, weight=(1.0,) * 7)
    torch.testing.assert_close(loss, expected / 7)


@pytest.mark.parametrize("ragged", [False, True])
def test_raw_scores_of_candidates_are_what_a_search_by_logits_adds_up(ragged):
    from rars.search.beam import Begun, Guide
    from rars.search.exact import exact_search

    example, model, _, found = ready(ragged=ragged)
    lists, _, logits = listed(example, model, found)
    tokens = [torch.tensor(np.asarray(one)[None]) for one in example.tokens]
    for at, query in enumerate(lists.query.tolist()):
        encoded = model.encoder(tokens[query], torch.ones_like(tokens[query]), None)
        ranked = exact_search(
            model,
            example.tree,
            example.vocabulary,
            Begun.of(model, encoded),
            width=example.tree.n_leaves,
            guide=Guide(score="logit"),
        )
        leaf = int(example.tree.leaves_of(lists.item[at : at + 1].numpy())[0])
        place = int(np.flatnonzero(ranked.leaves[0] == leaf)[0])
        assert ranked.scores[0, place] == pytest.approx(logits[at].sum().item(), abs=1e-6)
        if at > 12:
            break


def test_prefix_ranking_raises_the_coverage_of_relevant_prefixes():
    """With the whole catalogue in the lists, read off the raw logits of first codes."""
    example, model, batch, _ = ready()
    data = example.data(with_siblings=True)
    every = Mined(np.repeat(np.arange(7), 60), np.tile(np.arange(60), 7), np.tile(np.arange(60), 7))
    lists = packed_lists(data, example.relevance, with_relevant(example.relevance, every, 60))
    packed = pack_lists(lists, np.arange(7))
    listed_terms = terms("prefix-ranking", lengths=[1, 2, 3], count=60)
    trained = TrainingModel(model, listed_terms)
    whole = dataclasses.replace(batch, candidates={"prefix-ranking": packed})

    def coverage():
        logits = model(batch).logits[0]
        first = [
            {int(example.codes[i][0]) for q, i, _ in example.pairs if q == n} for n in range(7)
        ]
        best = [set(logits[n].topk(len(own)).indices.tolist()) for n, own in enumerate(first)]
        return np.mean([len(own & top) / len(own) for own, top in zip(first, best, strict=True)])

    before = coverage()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(60):
        optimizer.zero_grad()
        trained(whole, seed=0)[0].backward()
        optimizer.step()
    assert before < 0.6 < 0.9 < coverage()  # found: .46 and 1


def test_settings_that_mean_nothing_are_one_sentence():
    with pytest.raises(RarsError, match="no source of candidates 'elsewhere'"):
        terms("margin-ranking", source="elsewhere")
    with pytest.raises(RarsError, match="factors are above 0"):
        terms("prefix-ranking", factors=[0.0])
