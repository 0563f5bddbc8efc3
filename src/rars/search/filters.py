"""The filter language: which items may be found, said in a line of text.

Owns: reading a filter into a small tree of tests, and pointing at the character where one cannot be read.
Ignores catalogues: what a name stands for and which items pass is ``rars.search.columns``'s.

    brand = "Acme" AND price < 20 AND color IN (black, navy) AND NOT material : leather

::

    either := both (OR both)*
    both   := one (AND one)*
    one    := NOT one | "(" either ")" | test
    test   := name (= | != | < | <= | > | >=) value
            | name [NOT] IN "(" value ("," value)* ")"
            | name [NOT] CONTAINS value | name : value
            | name IS [NOT] NULL | name [NOT] EXISTS

A value is a number, ``true`` or ``false``, a word, or a text in quotes; a name with blanks stands in
backticks. Keywords may be written in small letters. Logic has two values: ``NOT`` and ``!=`` take exactly the
items that their opposite leaves, those without a value included.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

from rars.errors import FilterError

LONGEST = 10_000
"""Characters of a filter."""
DEEPEST = 60
"""Parentheses and NOTs inside one another."""

Operation = Literal["=", "<", "<=", ">", ">=", "in", "contains", "null"]


@dataclass(frozen=True)
class Value:
    """What a column is compared with: as it was written, and where (from 0)."""

    text: str
    kind: Literal["word", "number", "truth", "quoted"]
    start: int


@dataclass(frozen=True)
class Comparison:
    """One column against some values; ``start`` and ``end`` say where it stands in the filter."""

    name: str
    operation: Operation
    values: tuple[Value, ...]
    start: int
    end: int


@dataclass(frozen=True)
class Not:
    """What its part does not take."""

    part: Expression
    start: int
    end: int


@dataclass(frozen=True)
class All:
    """What every part takes."""

    parts: tuple[Expression, ...]
    start: int
    end: int


@dataclass(frozen=True)
class Some:
    """What at least one part takes."""

    parts: tuple[Expression, ...]
    start: int
    end: int


Expression = Comparison | Not | All | Some


def parse(text: str) -> Expression:
    """Read a filter; what cannot be read is a ``FilterError`` at its character.

    >>> found = parse("price < 20 and not color in (black, 'dark blue')")
    >>> found.parts[0].operation, found.parts[1].part.values[1].text
    ('<', 'dark blue')
    >>> parse("price < ")
    Traceback (most recent call last):
    ...
    rars.errors.FilterError: Filter, character 9: a value should follow, but the filter ends.
    """
    if len(text) > LONGEST:
        raise FilterError(text, LONGEST, f"a filter has at most {LONGEST:,} characters")
    reader = _Reader(text, _tokens(text))
    if reader.now.kind == "end":
        raise FilterError(text, 0, "the filter is empty")
    found = reader.either()
    if reader.now.kind != "end":
        quotes = "; a text of several words stands in quotes" if reader.now.kind == "word" else ""
        raise reader.wrong(f"AND or OR should follow, not {reader.now.shown}{quotes}")
    return found


def conjuncts(expression: Expression) -> tuple[Expression, ...]:
    """The clauses that an item must all pass."""
    return expression.parts if isinstance(expression, All) else (expression,)


# -- tokens ----------------------------------------------------------------------------------------

_TOKEN = re.compile(
    r"""(?P<space>\s+)
      | (?P<sign>!=|<=|>=|==|<|>|=|:|\(|\)|,)
      | "(?P<double>(?:[^"\\]|\\.)*)"
      | '(?P<single>(?:[^'\\]|\\.)*)'
      | `(?P<name>[^`]*)`
      | (?P<word>[^\s()=!<>:,"'`]+)
    """,
    re.VERBOSE | re.DOTALL,
)
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_KEYWORDS = frozenset(("AND", "OR", "NOT", "IN", "IS", "NULL", "CONTAINS", "EXISTS"))


@dataclass(frozen=True)
class _Token:
    """``kind`` is word, quoted, name, end, or the sign or keyword itself."""

    kind: str
    text: str
    start: int
    end: int

    @property
    def shown(self) -> str:
        return "the end" if self.kind == "end" else repr(self.text)


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            known = {'"': "a quote is not closed", "'": "a quote is not closed"}
            known |= {"`": "a backtick is not closed"}
            raise FilterError(text, at, known.get(text[at], f"{text[at]!r} means nothing here"))
        kind, said = match.lastgroup, match[match.lastgroup or 0]
        if kind == "sign":
            found.append(_Token("=" if said == "==" else said, said, at, match.end()))
        elif kind in ("double", "single"):
            plain = re.sub(r"\\(.)", r"\1", said, flags=re.DOTALL)
            found.append(_Token("quoted", plain, at, match.end()))
        elif kind == "name":
            found.append(_Token("name", said, at, match.end()))
        elif kind == "word":
            upper = said.upper()
            found.append(_Token(upper if upper in _KEYWORDS else "word", said, at, match.end()))
        at = match.end()
    found.append(_Token("end", "", len(text), len(text)))
    return found


# -- reading ---------------------------------------------------------------------------------------


class _Reader:
    """Goes through the tokens of one filter, from left to right."""

    def __init__(self, text: str, tokens: list[_Token]) -> None:
        self.text = text
        self._tokens = tokens
        self._at = 0
        self._deep = 0

    @property
    def now(self) -> _Token:
        return self._tokens[self._at]

    def wrong(self, message: str, at: _Token | None = None) -> FilterError:
        return FilterError(self.text, (at or self.now).start, message)

    def _next(self) -> _Token:
        token = self.now
        self._at += 1
        return token

    def _took(self, *kinds: str) -> bool:
        """Whether the next tokens are these; if so, they are passed."""
        if [token.kind for token in self._tokens[self._at : self._at + len(kinds)]] != [*kinds]:
            return False
        self._at += len(kinds)
        return True

    def _needed(self, kind: str, said: str) -> _Token:
        if self.now.kind != kind:
            raise self.wrong(f"{said} should follow, {self._instead()}")
        return self._next()

    def _instead(self) -> str:
        return "but the filter ends" if self.now.kind == "end" else f"not {self.now.shown}"

    def either(self) -> Expression:
        parts = [self._both()]
        while self._took("OR"):
            parts.append(self._both())
        return parts[0] if len(parts) == 1 else Some(tuple(parts), parts[0].start, parts[-1].end)

    def _both(self) -> Expression:
        parts = [self._one()]
        while self._took("AND"):
            parts.append(self._one())
        return parts[0] if len(parts) == 1 else All(tuple(parts), parts[0].start, parts[-1].end)

    def _one(self) -> Expression:
        first = self.now
        if first.kind not in ("NOT", "("):
            return self._test()
        self._deep += 1
        if self._deep > DEEPEST:
            raise self.wrong(f"a filter goes at most {DEEPEST} levels deep")
        self._next()
        if first.kind == "NOT":
            part = self._one()
            found: Expression = Not(part, first.start, part.end)
        else:
            found = self.either()
            if self.now.kind == "word":
                raise self.wrong(f"AND, OR or ')' should follow, not {self.now.shown}")
            closed = self._needed(")", "')'")
            found = replace(found, start=first.start, end=closed.end)
        self._deep -= 1
        return found

    def _test(self) -> Expression:
        name = self.now
        if name.kind not in ("word", "name"):
            hint = "; a column's name has no quotes" if name.kind == "quoted" else ""
            raise self.wrong(f"the name of a column should follow, {self._instead()}{hint}")
        self._next()
        if self._took("IS", "NOT", "NULL") or self._took("EXISTS"):
            return self._made(name, "null", (), denied=True)
        if self._took("IS", "NULL") or self._took("NOT", "EXISTS"):
            return self._made(name, "null", ())
        if self.now.kind == "IS":
            raise self.wrong("NULL or NOT NULL should follow IS", self._tokens[self._at + 1])
        denied = self._took("NOT")
        if denied and self.now.kind not in ("IN", "CONTAINS"):
            raise self.wrong(f"IN, CONTAINS or EXISTS should follow, {self._instead()}")
        sign = self.now
        if self._took("IN"):
            return self._made(name, "in", self._several(), denied=denied)
        if self._took("CONTAINS") or self._took(":"):
            return self._made(name, "contains", (self._value(),), denied=denied)
        for operation in ("=", "<", "<=", ">", ">="):
            if self._took(operation):
                return self._made(name, operation, (self._value(),))
        if self._took("!="):
            return self._made(name, "=", (self._value(),), denied=True)
        raise self.wrong(
            f"after {name.text!r} one of = != < <= > >= : IN, CONTAINS, IS NULL or EXISTS should "
            f"follow, {self._instead()}",
            sign,
        )

    def _made(
        self,
        name: _Token,
        operation: Operation,
        values: tuple[Value, ...],
        *,
        denied: bool = False,
    ) -> Expression:
        end = self._tokens[self._at - 1].end
        test = Comparison(name.text, operation, values, name.start, end)
        return Not(test, name.start, end) if denied else test

    def _several(self) -> tuple[Value, ...]:
        self._needed("(", "'(' and a list of values")
        values = [self._value()]
        while self._took(","):
            values.append(self._value())
        if self.now.kind in ("word", "quoted"):
            raise self.wrong(f"',' or ')' should follow, not {self.now.shown}")
        self._needed(")", "')'")
        return tuple(values)

    def _value(self) -> Value:
        token = self.now
        if token.kind == "quoted":
            self._next()
            return Value(token.text, "quoted", token.start)
        if token.kind == "word":
            self._next()
            if token.text.lower() in ("true", "false"):
                return Value(token.text.lower(), "truth", token.start)
            kind = "number" if _NUMBER.fullmatch(token.text) else "word"
            return Value(token.text, kind, token.start)  # type: ignore[arg-type]
        hint = ""
        if token.kind in _KEYWORDS:
            hint = f"; as a text it stands in quotes: {token.text!r}"
        raise self.wrong(f"a value should follow, {self._instead()}{hint}")
