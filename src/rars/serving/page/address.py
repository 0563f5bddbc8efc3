"""What the page shows, as an address: everything that can be chosen stands in the query string.

Owns: reading an address and writing another one. Ignores what the values mean: a rule that no system has is
the system's to refuse. So every state of the page can be shared, and the back button works.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args
from urllib.parse import urlencode

from rars.serving.schemas import MOST_K, MOST_TEXT

View = Literal["search", "tree", "why", "compare"]
VIEWS: tuple[View, ...] = get_args(View)

SHOWN = 20
"""Items of a page of results, unless told otherwise."""


@dataclass(frozen=True)
class Side:
    """One of two things that are compared; what is empty is as the server would do it by itself."""

    system: str = ""
    rule: str = ""
    version: str = ""


@dataclass(frozen=True)
class Address:
    """A view and what was chosen; what is empty is as the server would do it by itself.

    ``categories``  ``all`` to search every category, where a rule would choose some
    ``exact``       ``1`` to score everything
    ``prefix``      where the tree is looked at; ``item``, the one asked about or whose path is marked
    ``other_...``   the right side of a comparison
    """

    view: View = "search"
    q: str = ""
    system: str = ""
    rule: str = ""
    version: str = ""
    locale: str = ""
    filter: str = ""
    k: int = SHOWN
    categories: str = ""
    exact: str = ""
    item: str = ""
    prefix: str = ""
    other_system: str = ""
    other_rule: str = ""
    other_version: str = ""

    @classmethod
    def read(cls, view: View, given: Mapping[str, str]) -> Address:
        """An address from the parameters of a request; what it does not know, or cannot read, is left out.

        >>> Address.read("search", {"q": "mug", "k": "many", "x": "1"})
        Address(view='search', q='mug', system='', rule='', ...)
        """
        chosen: dict[str, Any] = {
            name: given[name].strip()[:MOST_TEXT] for name in _TEXTS if given.get(name)
        }
        number = given.get("k", "")
        if number.isascii() and number.isdecimal() and 1 <= int(number[:9]) <= MOST_K:
            chosen["k"] = int(number)
        return cls(view, **chosen)

    def to(self, view: View | None = None, **changes: Any) -> str:
        """The address with some things changed, as a link.

        >>> Address(q="tea mug", rule="ar").to("tree", prefix="a1")
        '/tree?q=tea+mug&rule=ar&prefix=a1'
        >>> Address(q="mug", item="P1").to(q="", item="")
        '/'
        """
        other = replace(self, view=view or self.view, **changes)
        plain = Address()
        said = {
            name: getattr(other, name)
            for name in (*_TEXTS, "k")
            if getattr(other, name) != getattr(plain, name)
        }
        path = "/" if other.view == "search" else f"/{other.view}"
        return f"{path}?{urlencode(said)}" if said else path

    @property
    def left(self) -> Side:
        """What is searched, and the left side of a comparison."""
        return Side(self.system, self.rule, self.version)

    @property
    def right(self) -> Side:
        """The right side of a comparison."""
        return Side(self.other_system, self.other_rule, self.other_version)


_TEXTS = tuple(one.name for one in fields(Address) if one.name not in ("view", "k"))
