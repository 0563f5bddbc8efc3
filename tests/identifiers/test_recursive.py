"""Trees whose branches end where they may: against recursion by hand, for old items and new ones."""

from __future__ import annotations

import numpy as np
import pytest

from rars.config import IdentifierSettings
from rars.errors import RarsError
from rars.identifiers import Identifiers, Scene, learn_identifiers
from rars.identifiers.category_clusters import RefineSettings, grown, refined
from rars.identifiers.hierarchical import VariableTree
from rars.identifiers.keys import sharing
from rars.identifiers.mates import Mates
from rars.identifiers.recursive import RecursiveSettings, fit_recursive
from rars.tree.categories import CategoryTree

from .worlds import families, judged_shop, shop

COUNT = 500


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return shop(tmp_path_factory.mktemp("shop") / "d", [f"item {i}" for i in range(COUNT)])


def settings(**own):
    chosen = {
        "learner": "recursive-kmeans",
        "recursive-kmeans": {"branching": 4, "leaf": 20, **own},
    }
    return IdentifierSettings.model_validate(chosen)


@pytest.fixture(scope="module")
def learned(dataset):
    return learn_identifiers(dataset, settings(), vectors=families(COUNT))


def by_hand(tree, vector):
    """Go down one node at a time to the nearest child, until there is none."""
    path, node = [], 0
    for centroids, starts in zip(tree.centroids, tree.starts, strict=True):
        children = centroids[starts[node] : starts[node + 1]].astype(np.float64)
        if not len(children):
            break
        path.append(int(((children - vector) ** 2).sum(axis=1).argmin()))
        node = int(starts[node]) + path[-1]
    return path


def test_clusters_are_divided_exactly_while_they_have_many_items():
    vectors = families(COUNT)
    tree = fit_recursive(vectors, RecursiveSettings(branching=4, leaf=20), seed=1)
    codes = tree.encode(vectors)
    below: dict[tuple[int, ...], int] = {}
    ends: dict[tuple[int, ...], int] = {}
    for row, vector in zip(codes, vectors, strict=True):
        path = [code for code in row.tolist() if code >= 0]
        assert path == by_hand(tree, vector)
        for depth in range(len(path)):
            below[tuple(path[:depth])] = below.get(tuple(path[:depth]), 0) + 1
        ends[tuple(path)] = ends.get(tuple(path), 0) + 1
    assert not below.keys() & ends.keys(), "a cluster is divided or it ends"
    assert all(count > 20 for path, count in below.items() if path), "divided: more than c"
    assert all(count <= 20 for count in ends.values()), "not divided: at most c"
    assert {len(path) for path in ends} > {2, 3}, "identifiers differ in length"
    assert max(tree.sizes) <= 4


def test_items_that_nothing_tells_apart_stay_in_one_cluster():
    same = np.repeat(families(3), 50, axis=0)
    tree = fit_recursive(same, RecursiveSettings(branching=2, leaf=10), seed=0)
    codes = tree.encode(same)
    assert len(np.unique(codes, axis=0)) == 3
    one = fit_recursive(np.repeat(families(1), 50, axis=0), RecursiveSettings(leaf=10), seed=0)
    assert one.sizes == (1,)


def test_members_are_numbered_after_their_path(learned):
    quantizer = learned.quantizer
    paths = quantizer.encode(families(COUNT))
    length = (paths >= 0).sum(axis=1)
    assert sharing(learned.codes) == 0
    for row in range(COUNT):
        own = learned.codes[row]
        assert own[: length[row]].tolist() == paths[row, : length[row]].tolist()
        earlier = (paths[:row] == paths[row]).all(axis=1).sum()
        assert own[length[row]] == earlier, "counted in catalogue order"
        assert (own[length[row] + 1 :] == -1).all()
    assert (learned.codes.max(axis=0) < learned.sizes).all()


def test_new_items_one_by_one_get_what_they_get_together(learned, tmp_path):
    vectors = np.concatenate([families(40, seed=5), np.repeat(families(COUNT)[:1], 30, axis=0)])
    ids = [f"new{i}" for i in range(len(vectors))]
    together = learned.assign(vectors, ids)
    assert (together.max(axis=0) < learned.sizes).all(), "no code outside its codebook"
    growing = learned
    for row, name in enumerate(ids):
        growing = growing.added(vectors[row : row + 1], [name])
    assert np.array_equal(growing.codes[COUNT:], together)
    learned.save(tmp_path / "ids")
    opened = Identifiers.load(tmp_path / "ids")
    assert isinstance(opened.quantizer, VariableTree)
    assert np.array_equal(opened.assign(vectors, ids), together)


def test_policies_that_need_one_length_are_refused(dataset):
    chosen = settings().model_copy(update={"collisions": "repair"})
    with pytest.raises(RarsError, match="needs identifiers of one length, .*'suffix'"):
        learn_identifiers(dataset, chosen, vectors=families(COUNT))


# --- the category path first ---------------------------------------------------------------------


def test_the_path_comes_first_then_clusters_inside_the_category():
    vectors = families(120)
    paths = [["a", "b"], ["a"], ["c"], None]
    categories = CategoryTree.of_paths([paths[row % 4] for row in range(120)], 2)
    tree, codes = grown(vectors, categories, RefineSettings(clusters=(3, 2)), seed=0)
    assert codes.shape == (120, 4), "two categories, then two levels of clusters"
    lengths = (codes >= 0).sum(axis=1).reshape(-1, 4)
    assert (lengths == [4, 3, 3, 2]).all(), "as many categories as an item has, and two more"
    first = codes[:, 0].reshape(-1, 4)
    assert (first[:, 0] == first[:, 1]).all(), "both in category a"
    assert len({*first[0, :3].tolist()} & {*first[:, 3].tolist()}) == 0, (
        "items without any: clusters"
    )
    second = codes[:, 1].reshape(-1, 4)
    assert len(set(second[:, 0])) == 1, "a > b is one code"
    assert not set(second[:, 0]) & set(second[:, 1]), "and clusters of a's own items are others"
    for row in range(1, 120, 4):  # items of category a alone: the nearest of its clusters
        node = codes[row, 0]
        begin, end = tree.starts[1][node : node + 2]
        clusters = tree.centroids[1][begin + 1 : end]
        nearest = ((clusters - vectors[row]) ** 2).sum(axis=1).argmin()
        assert codes[row, 1] == 1 + nearest


def test_turned_vectors_bring_together_what_is_wanted_together(tmp_path):
    rng = np.random.default_rng(0)
    wanted = rng.integers(12, size=240)
    judged = [(f"q{wanted[row]}", f"i{row}", 1.0 + row % 3) for row in range(240)]
    titles, queries = [f"item {i}" for i in range(240)], [f"query {q}" for q in range(12)]
    dataset = judged_shop(tmp_path / "d", titles, queries, judged, ["train"] * 12)
    hint = rng.normal(size=(12, 16))[wanted]
    vectors = (0.6 * hint + rng.normal(size=(240, 16))).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    scene = Scene(dataset, vectors, None, (), 0)
    matrix = refined(scene, RefineSettings(batch=64, learning_rate=1e-2))
    one, other = Mates.of(dataset).neighbours()

    def gap(points):
        unit = points / np.linalg.norm(points, axis=1, keepdims=True)
        return (unit[one] * unit[other]).sum(axis=1).mean() - (unit @ unit.T).mean()

    assert gap(vectors + vectors @ matrix) > gap(vectors) + 0.1
    assert not refined(scene, RefineSettings(epochs=0)).any()


def test_items_of_a_cluster_stand_in_the_order_in_which_they_are_wanted(tmp_path):
    titles, queries = ["mug"] * 6, ["mug", "cup"]
    judged = [("q0", "i4", 3.0), ("q0", "i1", 1.0), ("q1", "i4", 3.0), ("q1", "i2", 3.0)]
    dataset = judged_shop(
        tmp_path / "d", titles, queries, judged, ["train"] * 2, category=[["Mugs"]] * 6
    )
    chosen = IdentifierSettings.model_validate(
        {"learner": "category-clusters", "category-clusters": {"clusters": (1,), "epochs": 0}}
    )
    found = learn_identifiers(dataset, chosen, vectors=np.ones((6, 4), dtype=np.float32))
    last = found.codes[:, -1]
    # i4 has mass 3/4 + 1/2, i2 has 1/2, i1 has 1/4; the others nothing, in catalogue order
    assert np.argsort(last).tolist() == [4, 2, 1, 0, 3, 5]
    assert sharing(found.codes) == 0
    more = found.added(np.ones((1, 4), dtype=np.float32), ["new"])
    assert more.codes[-1].tolist()[:-1] == found.codes[0].tolist()[:-1]
