"""Where a beam lost an item, or how far down it stands: the categories, the code, the score, the rivals.

Owns: what is said of a ``Retriever``. What is said of the beam comes from the search itself, watched step by
step; the scores of the item's own path are those of a beam that may go nowhere else, whose codes compete
with the same siblings. Ignores restrictions (``restricted``): the item passes them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from rars.arrays import Floats, Ints
from rars.search.beam import NOTHING, Paths, Stage, beam_search, items_of
from rars.search.columns import SEPARATOR
from rars.search.exact import exact_search
from rars.search.retriever import Readied, Retriever
from rars.search.router import chances_of
from rars.search.routing import admit_leaves
from rars.search.why_not.answer import (
    SHOWN,
    Choice,
    Item,
    PathStep,
    Rival,
    WhyNot,
    ordinal,
    shown_before,
)
from rars.tree import PrefixTree, code_name


@torch.inference_mode()
def by_beam(asked: Item, retriever: Retriever) -> WhyNot:
    """The first thing that keeps an item out of the first k: categories, the beam, or others before it."""
    tree = retriever.tree
    readied = retriever.readied([replace(asked.query, explain=False)])
    plan = readied.plans[0]
    leaf = int(tree.leaves_of(np.array([asked.row]))[0])
    low, high = tree.item_ranges(tree.depth, leaf)
    facts: dict[str, Any] = {"width": plan.width, "shares": int(high - low) - 1}
    admitted = readied.guide.admitted
    one = np.zeros(1, dtype=np.int64)
    if admitted is not None and not admitted.allows(tree.depth - 1, one, np.array([leaf]))[0]:
        return _routed(asked, retriever, readied, facts)
    stages: list[Stage] = []
    # Without a beam nothing is lost, and every rank can be told.
    width = tree.n_leaves if plan.exact else plan.width
    found = _searched(retriever, readied, width, exact=plan.exact, watch=stages)
    own = replace(readied.guide, admitted=admit_leaves(tree, one, np.array([leaf])))
    path = _searched(retriever, replace(readied, guide=own), 1, exact=False)
    nodes = _path(tree, leaf)
    steps = _steps(tree, nodes, path, stages)
    facts["steps"] = steps
    lost = next((at for at, step in enumerate(steps) if not step.kept), None)
    if lost is not None:
        return _pruned(asked, retriever, readied, stages[lost], nodes[lost], lost, facts)
    return _ranked(asked, retriever, readied, found, path, leaf, facts)


def _searched(
    retriever: Retriever,
    readied: Readied,
    width: int,
    *,
    exact: bool,
    watch: list[Stage] | None = None,
) -> Paths:
    told: dict[str, Any] = {}
    if watch is not None and not exact:
        told["watch"] = watch.append
    return (exact_search if exact else beam_search)(
        retriever.ready.model,
        retriever.tree,
        retriever.ready.architecture.vocabulary,
        readied.begun,
        projected=readied.projected,
        width=width,
        guide=readied.guide,
        **told,
    )


def _path(tree: PrefixTree, leaf: int) -> list[int]:
    """The nodes above a leaf and itself, from depth 1 on."""
    found = [leaf]
    for depth in range(tree.depth, 1, -1):
        found.append(int(tree.parents(depth, np.array([found[-1]]))[0]))
    return found[::-1]


def _steps(
    tree: PrefixTree, nodes: list[int], path: Paths, stages: list[Stage]
) -> tuple[PathStep, ...]:
    """The item's path, and how each of its prefixes stood in the beam; without stages nothing is pruned."""
    codes = tree.paths(tree.depth, np.array(nodes[-1:]))[0].tolist()
    model, evidence = path.model[0, 0], path.evidence[0, 0]
    scores = np.cumsum(model + evidence)
    found = []
    for depth, node in enumerate(nodes):
        step = PathStep(
            name=code_name(depth, codes[depth]),
            code=codes[depth],
            model=float(model[depth]),
            evidence=float(evidence[depth]),
            score=float(scores[depth]),
            kept=True,
        )
        if stages:
            step = _seen(step, stages[depth], node)
        found.append(step)
    return tuple(found)


def _seen(step: PathStep, stage: Stage, node: int) -> PathStep:
    """A step with what the beam did there."""
    kept = stage.kept[0]
    at = np.flatnonzero(stage.nodes == node)
    cutoff = float(stage.scores[np.isin(stage.nodes, kept)].min(initial=np.inf))
    step = replace(step, kept=bool((kept == node).any()), cutoff=cutoff)
    if not len(at):
        return step
    score = float(stage.scores[at[0]])
    # Of equal scores the first in the order of the tree is taken.
    before = (stage.scores > score) | ((stage.scores == score) & (stage.nodes < node))
    return replace(step, score=score, rank=int(before.sum()) + 1, candidates=len(stage.nodes))


def _pruned(
    asked: Item,
    retriever: Retriever,
    readied: Readied,
    stage: Stage,
    node: int,
    lost: int,
    facts: dict[str, Any],
) -> WhyNot:
    """The item's prefix was offered to the beam at this step and not kept."""
    tree, steps = retriever.tree, facts["steps"]
    step: PathStep = steps[lost]
    kept = stage.kept[0]
    kept = kept[kept != NOTHING]
    place = {int(one): at for at, one in enumerate(stage.nodes.tolist())}
    scores = np.array([stage.scores[place[int(one)]] for one in kept])
    order = np.lexsort((kept, -scores))
    last = int(order[-1])
    own = (
        sum(one.model for one in steps[: lost + 1]),
        sum(one.evidence for one in steps[: lost + 1]),
    )
    theirs = (
        float(stage.model[0, last, : lost + 1].sum()),
        float(stage.evidence[0, last, : lost + 1].sum()),
    )
    because = _cause(own, theirs, step.score, float(scores[last]))
    rivals = _prefixes(retriever, readied, lost + 1, kept[order], scores[order])
    name = _written(tree, lost + 1, node)
    assert step.rank is not None
    said = (
        f"fell out of the beam at code {lost + 1} of {tree.depth}: its prefix {name} scored "
        f"{step.score:.2f} and stood {ordinal(step.rank)} of {step.candidates:,}, the beam keeps "
        f"{len(kept)}, and the last one kept scored {scores[last]:.2f}"
    )
    why = {
        "model": f"; the model gives it {_chance(retriever, own)} and that one "
        f"{_chance(retriever, theirs)}",
        "evidence": f"; evidence added {own[1]:.2f} to it and {theirs[1]:.2f} to that one",
        "order": "; of equal scores those earlier in the tree are kept",
    }[because]
    return asked.says(
        "pruned",
        f"{said}{why}.",
        because=because,
        depth=lost + 1,
        rank=step.rank,
        score=step.score,
        needed=float(scores[last]),
        beaten_by=rivals,
        **facts,
    )


def _chance(retriever: Retriever, terms: tuple[float, float]) -> str:
    """What the model gives a prefix: its probability, or the sum of raw logits."""
    if retriever.settings.score != "probability":
        return f"{terms[0]:.2f}"
    return f"{100 * np.exp(terms[0]):.2g} %"


def _cause(
    own: tuple[float, float], theirs: tuple[float, float], score: float, needed: float
) -> str:
    """What speaks more for the other: the model's terms, or those of evidence."""
    if score == needed:
        return "order"
    gaps = [other - mine for mine, other in zip(own, theirs, strict=True)]
    return "model" if gaps[0] >= gaps[1] else "evidence"


def _prefixes(
    retriever: Retriever, readied: Readied, depth: int, nodes: Ints, scores: Floats
) -> tuple[Rival, ...]:
    """The first few prefixes that were kept, and the last; each with its best item that may be found."""
    chosen = [*range(min(SHOWN, len(nodes)))]
    if len(nodes) > SHOWN:
        chosen.append(len(nodes) - 1)
    tree, places = retriever.tree, readied.plans[0].places
    weighed = readied.weighed[0]
    rows = []
    for at in chosen:
        low, high = tree.item_ranges(depth, int(nodes[at]))
        below = np.arange(int(low), int(high))
        if places is not None:
            below = below[places.marks[below]]
        best = 0 if weighed is None else int(np.argmax(weighed.evidence.at(below)))
        rows.append(int(tree.order[below[best]]))
    shown = retriever.catalogue.take(np.array(rows))
    return tuple(
        Rival(
            at + 1,
            float(scores[at]),
            one["id"],
            one["title"],
            _written(tree, depth, int(nodes[at])),
        )
        for at, one in zip(chosen, shown, strict=True)
    )


def _ranked(
    asked: Item,
    retriever: Retriever,
    readied: Readied,
    found: Paths,
    path: Paths,
    leaf: int,
    facts: dict[str, Any],
) -> WhyNot:
    """The item's identifier was found: where it stands among all items of the beam."""
    tree, plan, weighed = retriever.tree, readied.plans[0], readied.weighed[0]
    order = weighed.evidence if weighed is not None and plan.rule.guides else None
    items, places = items_of(tree, found.leaves[0], tree.n_items, order)
    if plan.places is not None:
        stays = plan.places.has(items)
        items, places = items[stays], places[stays]
    rank = int(np.flatnonzero(items == asked.row)[0]) + 1
    scores = found.scores[0][places]
    score = float(scores[rank - 1])
    if rank <= plan.k:
        return asked.says(
            "found", f"is found: it stands {ordinal(rank)}.", rank=rank, score=score, **facts
        )
    last = plan.k - 1
    needed = float(scores[last])
    other = int(places[last])
    theirs = float(found.model[0, other].sum()), float(found.evidence[0, other].sum())
    own = float(path.model.sum()), float(path.evidence.sum())
    because = _cause(own, theirs, score, needed)
    same = int(found.leaves[0][other]) == leaf
    said = (
        f"was found, but stands {ordinal(rank)} and {plan.k} {'is' if plan.k == 1 else 'are'} shown: "
        f"it scored {score:.2f}, the last one shown {needed:.2f}"
    )
    if because == "order":
        behind = (
            "by evidence, then as in the catalogue" if order is not None else "as in the catalogue"
        )
        said += (
            f"; both have the same identifier, whose items stand {behind}"
            if same
            else "; equal scores stand in the order of the tree"
        )
    elif because == "evidence":
        said += f", for which evidence says more ({theirs[1]:.2f} against {own[1]:.2f})"
    else:
        said += f", which the model finds more likely ({theirs[0]:.2f} against {own[0]:.2f})"
    return asked.says(
        "below",
        f"{said}.",
        because=because,
        rank=rank,
        score=score,
        needed=needed,
        beaten_by=shown_before(retriever, items, scores, plan.k),
        **facts,
    )


def _routed(asked: Item, retriever: Retriever, readied: Readied, facts: dict[str, Any]) -> WhyNot:
    """The item is in none of the categories that the model chose."""
    routes, categories = retriever.router.routes, retriever.index.categories
    assert routes is not None
    assert categories is not None
    chances = chances_of(retriever.ready.model.categories, readied.begun.latents)
    path = np.asarray(categories.nodes[asked.row])
    level = int((path >= 0).sum()) - 1
    own = int(np.flatnonzero((routes.level == level) & (routes.node == path[level]))[0])
    order = routes.best(chances, len(routes.names))[0].tolist()
    known = dict(readied.named[0])

    def choice(terminal: int) -> Choice:
        p = float(np.exp(chances[routes.level[terminal]][0, routes.node[terminal]]))
        return Choice(routes.names[terminal], p, order.index(terminal) + 1)

    chosen = tuple(choice(t) for t in order if routes.names[t] in known)
    mine = choice(own)
    searched = ", ".join(f"{one.path} {100 * one.probability:.0f} %" for one in chosen)
    said = (
        f"is in {mine.path.split(SEPARATOR)[-1]}, which the model gives {100 * mine.probability:.2g} % and "
        f"puts {ordinal(mine.rank)} of {len(order)} categories; searched were {searched}."
    )
    return asked.says("routed", said, because="routing", category=mine, categories=chosen, **facts)


def _written(tree: PrefixTree, depth: int, node: int) -> str:
    codes = tree.paths(depth, np.array([node]))[0].tolist()
    return " ".join(code_name(at, code) for at, code in enumerate(codes))
