"""Questions that nobody should ask, to a system that must answer them or say why not.

Texts are those of ``texts`` and any of Unicode, up to megabytes; options are right, wrong, and of no type
that makes sense.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import numpy as np

from rars.errors import RarsError
from rars.search.retriever import Retriever
from rars.systems import System, cleaned, search, search_many
from tests.hostile import texts
from tests.hostile.case import Case
from tests.hostile.folders import sound

NONSENSE = (
    *(None, True, False, 0, 1, -1, 2**70, 2.5, float("nan"), "", "5", "auto", "all", "ar", "0110"),
    *(
        "hybrid",
        "\0",
        "../x",
        b"x",
        [],
        ["x"],
        [1],
        [None],
        [["x"]],
        {},
        {"a": 1},
        (),
        set(),
        object(),
    ),
    *(
        np.int64(3),
        np.float32(1),
        np.array([1, 2]),
        np.array(["a"]),
        "en",
        "jp",
        "Home > Mugs",
        " > ",
    ),
    *(range(3), int, "x" * 5000, "\ud800", "n" * 300, iter(["x"])),
)
OPTIONS = (
    "k",
    "rule",
    "categories",
    "category",
    "allow",
    "deny",
    "filter",
    "locale",
    "exact",
    "explain",
    "beam",
    "filter",
)
RULES = ("ar", "all", "hybrid", "010", "111")


@cache
def tiny() -> Retriever:
    """A run trained for a moment, once a process."""
    run = sound()
    os.environ.setdefault("RARS_CACHE", str(run.parent / "cache"))
    return Retriever.load(run)


def filter_of(rng: random.Random, pieces: Any) -> str:
    """A filter, or what somebody takes for one: columns, operators and values in some order."""
    columns = (
        "brand",
        "color",
        "price",
        "category",
        "title",
        "id",
        "nothing",
        "attributes.a",
        "''",
    )
    operators = (
        "=",
        "!=",
        "<",
        ">=",
        "IN",
        "in",
        "AND",
        "OR",
        "NOT",
        "(",
        ")",
        "~",
        "..",
        "IS",
        ",",
    )
    values = (
        "Acme",
        "20",
        "-1e400",
        "'a b'",
        '"',
        "null",
        "true",
        "Home > Mugs",
        "*",
        "%",
        "[1]",
        "",
    )
    words: list[str] = []
    for _ in range(rng.choice((1, 1, 2, 3))):
        sound = [rng.choice(columns), rng.choice(operators[:4]), rng.choice(values)]
        kind = rng.random()
        if kind < 0.2:
            sound[2] = texts.text_of(rng, pieces)
        elif kind < 0.4:
            sound.insert(rng.randrange(4), rng.choice(operators))
        elif kind < 0.5:
            sound = ["("] * rng.choice((1, 50, 20_000)) + sound
        words += [*sound, rng.choice(("AND", "OR", "AND NOT"))]
    return " ".join(words[:-1] if rng.random() < 0.9 else words)


def text_of(rng: random.Random) -> str:
    """Any text: mostly short, sometimes of many megabytes, sometimes of one kind of character."""
    kind = rng.random()
    if kind < 0.5:
        return texts.text_of(rng, _pieces())
    if kind < 0.8:
        return texts.anything(rng, rng.choice((1, 2, 8, 40, 300)))
    if kind < 0.9:
        return "".join(rng.choices(".,;:!?-_()[]{}'\"@#€%&/\\|<>=+*~^` ", k=rng.randint(1, 40)))
    if kind < 0.95:
        return "".join(rng.choices("0123456789 .,/x-", k=rng.randint(1, 60)))
    if kind < 0.985:
        return "".join(chr(rng.randrange(0x20)) for _ in range(rng.randint(1, 20)))
    piece = rng.choice(
        ("a", "1 ", "ﷺ", "😀", "\u0301", "\x00", " ", "1/2 x ", "銀", "\ud800", "ß'")
    )
    return piece * rng.choice((100, 20_000, 10_000_000 // len(piece)))


@cache
def _pieces() -> Any:
    return texts._pieces()


def _ask(system: System, text: Any, options: dict[str, Any]) -> None:
    found = search(system, text, **options)
    scores = [hit.score for hit in found]
    assert all(np.isfinite(scores)), scores
    assert scores == sorted(scores, reverse=True)
    assert len({hit.item_id for hit in found}) == len(found)
    assert len(found) <= options.get("k", 10)
    found._repr_html_()


def cases(rng: random.Random, system: System | None = None) -> Iterator[Case]:
    """Single searches, and searches of many texts; without end."""
    asked = tiny() if system is None else system
    while True:
        options: dict[str, Any] = {}
        if rng.random() < 0.5:
            options["rule"] = rng.choice(RULES)
        if rng.random() < 0.2:
            options["locale"] = rng.choice(("en", "es-MX", "ja", "tlh"))
        if rng.random() < 0.1:
            options["explain"] = True
        if rng.random() < 0.1:
            options["k"] = rng.choice((1, 3, 10**6))
        if rng.random() < 0.2:
            options["filter"] = filter_of(rng, _pieces())
        text: Any = text_of(rng)
        if rng.random() < 0.15:
            options[rng.choice(OPTIONS)] = rng.choice(NONSENSE)
        if rng.random() < 0.02:
            text = rng.choice(NONSENSE)
        name = f"search {text!r:.300} {options!r:.300}"
        yield Case(name, partial(_ask, asked, text, options), _given(text, options))
        if rng.random() < 0.02:
            many: Any = rng.choice((rng.choice(NONSENSE), [text_of(rng) for _ in range(5)]))
            yield Case(f"many {many!r:.300}", partial(_many, asked, many))
        if rng.random() < 0.1:  # many at once cost a fraction of each
            batch = readable(rng, 32)
            yield Case(
                f"batch {batch!r:.1500}", partial(_answered, asked, batch, rng.choice(RULES))
            )


def _given(text: Any, options: dict[str, Any]) -> dict[str, Any] | None:
    given = {"text": text, "options": options}
    try:
        same = json.loads(json.dumps(given)) == given
    except (TypeError, ValueError):
        same = False  # NumPy, sets, bytes, objects: the seed says it
    return given if same else None


def again(given: dict[str, Any]) -> Case:
    """One search."""
    options = given.get("options", {})
    return Case(f"search {given!r:.300}", lambda: _ask(tiny(), given["text"], options))


def readable(rng: random.Random, count: int) -> list[str]:
    """Hostile texts that say something, so that all of them must be answered."""
    found: list[str] = []
    while len(found) < count:
        text = text_of(rng)
        if cleaned(text):
            found.append(text)
    return found


def _answered(system: System, batch: list[str], rule: str) -> None:
    for hits in search_many(system, batch, 3, rule=rule):
        assert hits
        assert all(np.isfinite(hit.score) for hit in hits)


def _many(system: System, many: Any) -> None:
    for options in ({}, {"k": 3}):
        try:
            search_many(system, many, **options)
        except RarsError:
            pass
        else:
            assert not isinstance(many, str)
