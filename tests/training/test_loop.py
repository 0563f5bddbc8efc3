"""The switches of the loop do what they promise: accumulation, learning rates, checkpoints, validation."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rars.config import LoopSettings, TrainingSettings
from rars.errors import Stopped
from rars.model.decoder import Decoder
from rars.model.encoder import QueryEncoder
from rars.model.identifier_model import IdentifierModel
from rars.training import loop
from rars.training.checkpoint import Position
from rars.training.sampler import QueryRange
from rars.tree import Relevance
from tests.model.small import Example, family_model, retriever, terms


def plan_of(example, folder, **changed):
    given = TrainingSettings(**({"epochs": 3, "pairs": 16, "learning_rate": 1e-3} | changed))
    taken = (QueryRange(0, len(example.tokens)),)
    return loop.Plan(example.data(), taken, given, given, folder, source="test")


def model_of(example, *listed, **rest):
    listed = listed or ("full-sid", "tree")
    model = retriever(example.vocabulary.slots, dropout_rate=0.0)
    own = {"rank": 8, "siblings": "all"} if listed[-1] == "tree" else {}
    return loop.TrainingModel(model, terms(*listed, **own), **rest)


def alike(queries=8, pairs=4):
    """Queries with equally many relevant items: a batch of half of them weighs half."""
    example = Example(queries=queries, latent=False)
    rng = np.random.default_rng(5)
    items = np.concatenate([rng.choice(60, pairs, replace=False) for _ in range(queries)])
    query = np.repeat(np.arange(queries), pairs)
    example.relevance = Relevance.of(query, items, rng.choice([1.0, 2.0], len(items)))
    return example


def test_two_accumulated_half_batches_are_one_step_over_both(tmp_path, float64):
    """Each loss is a mean over its batch: the mean of two equal halves is that of the whole."""
    example, ends = alike(), []
    for name, changed in (("whole", {"pairs": 32}), ("halves", {"pairs": 16, "accumulate": 2})):
        model = model_of(example)
        at = loop.train(model, plan_of(example, tmp_path / name, **changed))
        assert at.step == 3
        ends.append(model.state_dict())
    start = model_of(example).state_dict()
    moved = 0.0
    for name, values in ends[0].items():
        torch.testing.assert_close(ends[1][name], values, atol=1e-9, rtol=0, msg=name)
        moved = max(moved, float((values - start[name]).abs().max()))
    assert moved > 1e-4
    whole, halves = (
        [json.loads(line) for line in (tmp_path / name / "journal.jsonl").read_text().splitlines()]
        for name in ("whole", "halves")
    )
    for one, other in zip(whole, halves, strict=True):
        assert one["loss"] == pytest.approx(other["loss"], abs=1e-9)
        assert one["tree"] == pytest.approx(other["tree"], abs=1e-9)


def test_a_last_group_of_fewer_batches_is_a_whole_step(tmp_path):
    example = alike(queries=12)  # 3 batches of 4 queries
    at = loop.train(model_of(example), plan_of(example, tmp_path, epochs=2, accumulate=2))
    assert at == Position(step=4, epoch=2)


@pytest.mark.parametrize("accumulate", [1, 2])
def test_an_epoch_may_be_fewer_steps_than_there_are_batches(tmp_path, accumulate):
    example = alike(queries=24)  # 6 batches of 4 queries
    plan = plan_of(example, tmp_path, epochs=2, steps=2, accumulate=accumulate)
    assert loop.train(model_of(example), plan) == Position(step=4, epoch=2)


def test_a_recipe_without_steps_is_called_as_before():
    """Numbers kept by the digest of a recipe are found again."""
    assert "steps" not in LoopSettings().model_dump()
    assert LoopSettings(steps=3).model_dump()["steps"] == 3


def tree_with(example, **own):
    model = retriever(example.vocabulary.slots, dropout_rate=0.0)
    listed = terms("full-sid", "tree", rank=8, siblings="all", **own)
    return loop.TrainingModel(model, listed)


def test_a_term_that_fades_counts_less_and_less_and_then_not_at_all(tmp_path):
    example = alike(queries=24)
    loop.train(tree_with(example, weight=0.8, until=0.5), plan_of(example, tmp_path))
    lines = [json.loads(line) for line in (tmp_path / "journal.jsonl").read_text().splitlines()]
    weights = [max(0.0, 0.8 * (1 - line["progress"] / 0.5)) for line in lines]
    assert weights[0] > 0.7
    assert weights[-1] == 0.0
    for line, weight in zip(lines, weights, strict=True):
        assert line["loss"] == pytest.approx(line["full-sid"] + weight * line["tree"], rel=1e-5)


def test_a_term_that_fades_at_once_trains_as_one_that_never_counts(tmp_path):
    example, ends = alike(), []
    for name, own in (("fades", {"until": 1e-9}), ("never", {"weight": 0.0}), ("stays", {})):
        model = tree_with(example, **own)
        loop.train(model, plan_of(example, tmp_path / name))
        ends.append(model.model.state_dict())
    for name, value in ends[1].items():
        assert torch.equal(value, ends[0][name]), name
    assert any(not torch.equal(value, ends[2][name]) for name, value in ends[1].items())


def test_only_the_encoder_stack_and_heads_have_rates_of_their_own():
    example = Example(latent=False)
    own = family_model()
    encoder = QueryEncoder(own.encoder, 16, vector_dim=6, vector_tokens=2)
    model = IdentifierModel(encoder, Decoder(own.decoder), example.vocabulary.slots)
    trained = loop.TrainingModel(model, terms("full-sid", "tree", rank=8))
    given = LoopSettings(
        learning_rate=1e-3, encoder_learning_rate=1e-5, head_factor=10.0, weight_decay=0.1
    )
    optimizer = loop._optimizer(trained, given)
    found = {
        id(parameter): (group["lr"], group["weight_decay"])
        for group in optimizer.param_groups
        for parameter in group["params"]
    }
    rates = set()
    for name, parameter in trained.named_parameters():
        expected = 1e-3
        if name.startswith("model.encoder.stack."):
            expected = 1e-5
        elif name.startswith("heads."):
            expected = 1e-2
        rate, decay = found.pop(id(parameter))
        assert rate == pytest.approx(expected), name
        assert decay == (0.1 if parameter.ndim >= 2 else 0.0), name
        rates.add(rate)
    assert not found
    assert len(rates) == 3


def test_without_a_rate_of_its_own_the_encoder_learns_like_the_rest():
    trained = model_of(Example(latent=False), "full-sid")
    optimizer = loop._optimizer(trained, LoopSettings(learning_rate=1e-3))
    assert {group["lr"] for group in optimizer.param_groups} == {1e-3}


@pytest.mark.parametrize("name", ["half", "keys", "training"])
def test_a_term_may_have_the_name_of_a_method_of_modules(tmp_path, name):
    example = Example(latent=False)
    listed = terms("full-sid", "tree", name=name, rank=4)
    model = loop.TrainingModel(retriever(example.vocabulary.slots), listed)
    loop.train(model, plan_of(example, tmp_path, epochs=1))
    assert name in json.loads((tmp_path / "journal.jsonl").read_text().splitlines()[0])


def test_a_frozen_part_is_not_trained(tmp_path):
    example = Example(latent=False)
    model = model_of(example)
    model.model.encoder.stack.requires_grad_(False)
    before = {n: v.clone() for n, v in model.model.encoder.stack.state_dict().items()}
    loop.train(model, plan_of(example, tmp_path))
    for name, values in model.model.encoder.stack.state_dict().items():
        assert torch.equal(values, before[name]), name


@pytest.mark.parametrize("kept", [1, 3])
def test_never_more_checkpoints_than_are_kept(tmp_path, monkeypatch, kept):
    monkeypatch.setattr(loop, "_SAVING_SHARE", math.inf)  # after every step
    example = Example(queries=20, latent=False)
    plan = plan_of(example, tmp_path, epochs=2, checkpoint_seconds=0, checkpoints_kept=kept)
    counts = []

    def report(values):
        counts.append(len(list(plan.checkpoints.glob("step-*"))))

    at = loop.train(model_of(example, "full-sid"), plan, report=report)
    assert len(counts) == at.step > 4
    assert counts == [min(n, kept) for n in range(at.step)]
    left = sorted(path.name for path in plan.checkpoints.iterdir())
    assert left == [f"step-{at.step - n:09d}" for n in reversed(range(kept))]


@settings(max_examples=8, deadline=None)
@given(epochs=st.integers(1, 9), evaluations=st.integers(1, 9))
def test_validation_is_measured_as_often_as_asked_and_after_the_last_epoch(
    tmp_path_factory, epochs, evaluations
):
    example = Example(queries=2, latent=False)
    folder = tmp_path_factory.mktemp("plan")
    plan = plan_of(example, folder, epochs=epochs, evaluations=evaluations, pairs=500)
    asked = []

    def validate(model):
        asked.append(model.training)
        return {"validation": 0.5}

    loop.train(model_of(example, "full-sid"), plan, validate=validate)
    assert len(asked) == min(epochs, evaluations)
    assert not any(asked), "it is measured without dropout"
    lines = [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
    measured = [line["epoch"] for line in lines if "validation" in line]
    assert measured[-1] == epochs
    gaps = np.diff([0, *measured])
    assert gaps.max() - gaps.min() <= 1


def test_the_weights_that_were_best_are_those_that_come_back(tmp_path):
    example = Example(latent=False)
    plan = plan_of(example, tmp_path, epochs=4, evaluations=4, keep="best")
    model, seen = model_of(example, "full-sid"), []
    values = iter([0.1, 0.3, 0.3, 0.2])

    def validate(found):
        seen.append({n: v.clone() for n, v in found.state_dict().items()})
        return {"validation": next(values)}

    at = loop.train(model, plan, validate=validate)
    assert at.best == 0.3
    loop.restore_best(model, plan, at)
    for name, value in model.model.state_dict().items():
        assert torch.equal(value, seen[1][name]), name
    assert any(not torch.equal(value, seen[3][name]) for name, value in seen[1].items())


def test_measuring_a_final_checkpoint_is_told_and_changes_no_weight(tmp_path):
    example = Example(latent=False)
    plain, measured = model_of(example, "full-sid"), model_of(example, "full-sid")
    loop.train(plain, plan_of(example, tmp_path / "plain", epochs=4))
    plan = plan_of(example, tmp_path / "measured", epochs=4, evaluations=2)
    told = {"validation": 0.25, "validation_ndcg": 0.125}
    at = loop.train(measured, plan, validate=lambda model: told)
    assert at.best == 0.25
    assert not plan.best.exists(), "no weights are kept but the final ones"
    lines = [json.loads(line) for line in (plan.folder / "journal.jsonl").read_text().splitlines()]
    found = [line for line in lines if "validation" in line]
    assert [line["epoch"] for line in found] == [2, 4]
    assert all(line.items() >= told.items() for line in found)
    for name, value in plain.state_dict().items():
        assert torch.equal(value, measured.state_dict()[name]), name


def test_how_often_a_training_is_measured_follows_from_what_it_keeps():
    assert LoopSettings(keep="best").measured == 8
    assert LoopSettings().measured == 0
    assert LoopSettings(patience=1).measured == 8
    assert LoopSettings(evaluations=3).measured == 3


def patient(values, patience):
    """How many validations there are, and which was the best: the definition, read aloud."""
    best = 0
    for at, value in enumerate(values):
        if value > values[best]:
            best = at
        if patience and at - best >= patience:
            return at + 1, best
    return len(values), best


@settings(max_examples=20, deadline=None)
@given(
    values=st.lists(st.sampled_from([0.1, 0.2, 0.3]), min_size=1, max_size=7),
    patience=st.integers(0, 4),
    killed=st.integers(0, 6),
)
def test_patience_ends_a_phase_after_so_many_validations_without_a_better_one(
    tmp_path_factory, values, patience, killed
):
    """Also when it is killed at any validation in between: it remembers how long it has waited."""
    example = Example(queries=2, latent=False)
    folder = tmp_path_factory.mktemp("plan")
    plan = plan_of(
        example, folder, epochs=len(values), evaluations=99, pairs=500, patience=patience
    )
    asked = []

    def validate(model):
        epoch = round(model_epoch())
        if len(asked) == killed and killed not in asked:
            asked.append(killed)  # once
            raise KeyboardInterrupt
        return {"validation": values[epoch]}

    def model_epoch():
        lines = [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
        asked.append(-1)
        return max(line["epoch"] for line in lines) - 1

    try:
        at = loop.train(model_of(example, "full-sid"), plan, validate=validate)
    except KeyboardInterrupt:
        at = loop.train(model_of(example, "full-sid"), plan, validate=validate)
    epochs, best = patient(values, patience)
    assert at.epoch == epochs
    assert at.best == values[best]
    assert at.since == epochs - 1 - best
    lines = [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
    assert [line["validation"] for line in lines if "validation" in line] == values[:epochs]


def test_a_phase_that_patience_ended_is_done_and_the_next_one_goes_on_from_there(tmp_path):
    example = Example(latent=False)
    plan = plan_of(example, tmp_path, epochs=6, evaluations=6, patience=2)
    model, values = model_of(example, "full-sid"), iter([0.3, 0.2, 0.1])
    at = loop.train(model, plan, validate=lambda found: {"validation": next(values)})
    assert (at.epoch, at.best_step * 3) == (3, at.step)
    before = (tmp_path / "journal.jsonl").read_text()
    assert loop.train(model_of(example, "full-sid"), plan) == at
    assert (tmp_path / "journal.jsonl").read_text() == before
    later = replace(plan, name="later", first=at.epoch, step=at.step)
    assert loop.train(model, later).epoch == 9, "a phase of its own has its own patience"


def test_a_phase_that_is_done_touches_neither_journal_nor_checkpoint(tmp_path):
    example = Example(latent=False)
    plan = plan_of(example, tmp_path)
    at = loop.train(model_of(example, "full-sid"), plan)
    journal = tmp_path / "journal.jsonl"
    later = json.dumps({"step": at.step + 5, "loss": 1.0}) + "\n"
    journal.write_text(journal.read_text() + later)
    before = journal.read_text()
    again = model_of(example, "full-sid")
    assert loop.train(again, plan) == at
    assert journal.read_text() == before
    assert loop.train(again, replace(plan, name="other", first=at.epoch, step=at.step)).epoch == 6


def test_a_stopped_training_closes_its_journal(tmp_path, monkeypatch):
    opened = []

    class Watched(loop.Journal):
        def __init__(self, *given, **rest):
            super().__init__(*given, **rest)
            opened.append(self._stream)

    def stop(values):
        raise Stopped("enough")

    monkeypatch.setattr(loop, "Journal", Watched)
    example = alike()
    with pytest.raises(Stopped):
        loop.train(model_of(example), plan_of(example, tmp_path), report=stop)
    assert [stream.closed for stream in opened] == [True]
