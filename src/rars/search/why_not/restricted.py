"""The restrictions that leave an item out: clauses of a filter, a category, a locale, lists of items.

Owns: finding them, and saying what the item has there. Ignores the search itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from rars.search.filters import All, Comparison, Expression, Not, Some, conjuncts, parse
from rars.search.restrictions import Narrow
from rars.search.store import ItemStore
from rars.search.why_not.answer import Clause
from rars.systems import Query, System


def clauses_of(system: System, query: Query, row: int) -> Iterator[Clause]:
    """The restrictions that leave an item out."""
    store = system.catalogue
    if not isinstance(store, ItemStore):
        return
    for name, marks in Narrow.of(query).marks(store):
        if marks[row]:
            continue
        if name == "filter":
            yield from _failed(store, str(query.filter), row)
        elif name == "category":
            has = store.paths()[row].as_py()
            yield Clause(name, str(query.category), {"category": [] if has is None else [has]})
        elif name == "locale":
            assert store.locales is not None
            code = int(store.locales.codes[row])
            yield Clause(name, str(query.locale), {"locale": [store.locales.names[code]]})
        else:
            yield Clause(name, f"the list of items to {name}")


def _failed(store: ItemStore, text: str, row: int) -> Iterator[Clause]:
    """The clauses of a filter that an item does not pass, with what it has in their columns."""
    for one in conjuncts(parse(text)):
        if not store.columns.passed(one, text)[row]:
            names = dict.fromkeys(_names(one))
            has = {name: store.columns.values_of(name, row) for name in names}
            yield Clause("filter", text[one.start : one.end], has)


def _names(expression: Expression) -> Iterator[str]:
    if isinstance(expression, Comparison):
        yield expression.name
    elif isinstance(expression, Not):
        yield from _names(expression.part)
    elif isinstance(expression, All | Some):
        for part in expression.parts:
            yield from _names(part)


def filtered(clauses: tuple[Clause, ...]) -> str:
    """What leaves the item out, as the rest of a sentence about it."""
    said = []
    for clause in clauses:
        if clause.kind in ("allow", "deny"):
            listed = "is not on" if clause.kind == "allow" else "is on"
            said.append(f"it {listed} {clause.text}")
            continue
        has = "; ".join(
            f"its {name} is {', '.join(map(str, values))}" if values else f"it has no {name}"
            for name, values in clause.values.items()
        )
        what = clause.text if clause.kind == "filter" else f"{clause.kind} {clause.text}"
        said.append(f"{what} ({has})" if has else what)
    return f"is left out by what was asked for: {' and '.join(said)}."
