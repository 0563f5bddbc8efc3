"""An evaluation is of a system's facts: the same facts are served from disk, others are computed anew."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

from rars.errors import RarsError
from rars.evaluation import Truth, stored
from rars.evaluation.ranking import queries_of
from rars.systems import Answer
from tests.evaluation.worlds import make_dataset


class Catalogue:
    def __init__(self, ids):
        self.ids = pa.array(ids)

    def __len__(self):
        return len(self.ids)


class Fixed:
    """Always ranks its catalogue from the first item to the last."""

    rules = ("plain",)

    def __init__(self, ids, known=()):
        self.catalogue, self.known, self.asked, self.state = Catalogue(ids), known, [], 0

    def check(self, queries):
        pass

    def answer(self, queries, *, advance=None):
        self.asked += queries
        items = np.arange(len(self.catalogue))
        return [Answer(items[: query.k], -items[: query.k].astype(float)) for query in queries]

    def reads(self, locale):
        return locale in self.known

    def facts(self, rule=None):
        return {"rule": rule or "plain", "state": self.state}


@pytest.fixture
def world(tmp_path):
    return make_dataset(
        tmp_path / "data",
        list("wxyz"),
        ["lamp", "mug", "red"],
        [("lamp", "y", 3), ("mug", "x", 3), ("red", "w", 2)],
        splits=["test", "test", "train"],
    )


def test_a_catalogue_that_has_changed_is_measured_on_the_items_that_were_judged(world):
    ranking, found = stored.evaluate(Fixed(["new", "y", "x"]), world, Truth.of(world, "test"))
    assert [ranking.ranked.row(at)[0].tolist() for at in range(2)] == [[2, 1], [2, 1]]
    assert found.mean("MRR@100") == pytest.approx((1 + 1 / 2) / 2)


def test_the_same_facts_are_not_searched_again(world, tmp_path):
    system = Fixed("wxyz")
    first, numbers = stored.evaluated(system, tmp_path, world, "test")
    assert len(system.asked) == 2
    again, same = stored.evaluated(system, tmp_path, world, "test")
    assert len(system.asked) == 2
    assert numbers == same
    np.testing.assert_array_equal(first.matrix(), again.matrix())
    assert (tmp_path / "test-plain.run").exists()
    system.state = 1
    assert stored.evaluated(system, tmp_path, world, "test")[1]["state"] == 1
    assert len(system.asked) == 4
    stored.evaluated(system, tmp_path, world, "test", "other")
    assert {query.rule for query in system.asked[4:]} == {"other"}
    stored.verify(stored.Files.of(tmp_path, "test", "other"))


@pytest.mark.parametrize(
    ("locales", "read", "asked"),
    [
        (None, {"en"}, [None, None, None]),
        (["en", "fr", None], {"en"}, ["en", None, None]),
        (["en", "fr", None], set(), [None, None, None]),
    ],
)
def test_queries_are_asked_with_the_locales_that_the_system_reads(tmp_path, locales, read, asked):
    names = ["lamp", "mug", "red"]
    world = make_dataset(tmp_path / "data", list("wx"), names, [("lamp", "x", 3)], locales=locales)
    queries = queries_of(Fixed("wx", read), world, world.queries_in("test"), 7)
    assert [query.locale for query in queries] == asked
    assert [(query.text, query.k) for query in queries] == [(f"text of {n}", 7) for n in names]


# -- stored numbers are believed only as they were stored --------------------------------------------


@pytest.fixture
def files(world, tmp_path):
    """The files of one evaluation; ``lamp`` finds its item third, ``mug`` second."""
    stored.evaluated(Fixed("wxyz"), tmp_path / "results", world, "test")
    return stored.Files.of(tmp_path / "results", "test", "plain")


def changed_mean(files):
    files.numbers.write_text(files.numbers.read_text().replace('"mean": ', '"mean": 1', 1))


def reversed_run(files):
    files.run.write_text("".join(reversed(files.run.read_text().splitlines(keepends=True))))


def swapped_items(files):
    files.run.write_text(
        files.run.read_text().replace(" x ", " ? ").replace(" w ", " x ").replace("?", "w")
    )


def better_judged(files):
    files.qrels.write_text(files.qrels.read_text().replace(" y ", " w "))


def broken(files):
    files.numbers.write_text("{")


def of_something_else(files):
    files.numbers.write_text("[3]")


DAMAGES = [changed_mean, reversed_run, swapped_items, better_judged, broken, of_something_else]


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_was_changed_on_disk_is_computed_again_and_said(world, tmp_path, files, damage):
    before = {path: path.read_bytes() for path in vars(files).values()}
    first, numbers = stored.evaluated(Fixed("wxyz"), tmp_path / "results", world, "test")
    damage(files)
    system, said = Fixed("wxyz"), []
    again, found = stored.evaluated(system, tmp_path / "results", world, "test", say=said.append)
    assert found == numbers
    assert (again.matrix() == first.matrix()).all()
    assert len(system.asked) == 2
    assert len(said) == 1
    assert str(tmp_path / "results") in said[0]
    assert "computed again" in said[0]
    assert {path: path.read_bytes() for path in vars(files).values()} == before


@pytest.mark.parametrize("damage", DAMAGES)
def test_verifying_names_the_file_that_was_changed(world, files, damage):
    pytest.importorskip("ir_measures")
    assert stored.verify(files, world)
    damage(files)
    with pytest.raises(RarsError, match=r"results/test(-plain)?\.(json|run|qrels) "):
        stored.verify(files, world)


@pytest.mark.parametrize("end", ["mean", "low", "high"])
def test_verifying_computes_means_and_intervals_again(world, files, end):
    """Numbers that were wrong from the start carry a digest that matches."""
    pytest.importorskip("ir_measures")
    numbers = json.loads(files.numbers.read_text())
    numbers["measures"]["MRR@100"][end] += 0.01
    stored.seal(files, {key: one for key, one in numbers.items() if key != "digest"})
    with pytest.raises(RarsError, match=r"test-plain\.json says .*MRR@100 = "):
        stored.verify(files, world)


@pytest.mark.parametrize(
    "mark", [*map(chr, range(0x21)), *"%\x85\xa0\u1680\u2007\u2028\u2029\u3000", "\r\n"]
)
def test_what_an_id_holds_is_no_hindrance_to_verifying(tmp_path, mark):
    """Line breaks and blanks of every kind stand escaped in the files, as outside tools divide them."""
    pytest.importorskip("ir_measures")
    items, queries = [f"w{mark}1", "x", f"y{mark}", f"{mark}z"], [f"la{mark}mp", "mug"]
    judged = [(queries[0], items[2], 3), (queries[0], items[3], 1), ("mug", "x", 3)]
    world = make_dataset(tmp_path / "data", items, queries, judged)
    stored.evaluated(Fixed(items), tmp_path / "results", world, "test")
    files = stored.Files.of(tmp_path / "results", "test", "plain")
    assert stored.verify(files, world)["MRR@100"] == pytest.approx((1 / 3 + 1 / 2) / 2)
