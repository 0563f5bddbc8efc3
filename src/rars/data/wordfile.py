"""Word files: vocabularies and phrases as TOML, read with every mistake named by file and key.

Owns: reading a file, and asking it for texts, lists and tables of them. What is missing, of the wrong type,
unknown, doubled or wrongly marked ends in one sentence: ``en.toml: leaf.mug.names: a text is empty.`` Ignores
what the words are for; the modules that use them know the keys.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rars.errors import RarsError

_PLACEHOLDER = re.compile(r"\{[^{}]*\}")


class WordTable:
    """A table of a word file; it knows where it stands, so that it can say where a mistake is."""

    __slots__ = ("_content", "_file", "_place")

    def __init__(self, content: Mapping[str, Any], file: str, place: str = "") -> None:
        self._content, self._file, self._place = content, file, place

    def __iter__(self) -> Iterator[str]:
        return iter(self._content)

    def __contains__(self, key: str) -> bool:
        return key in self._content

    def wrong(self, key: str, message: str) -> RarsError:
        """The mistake of a key, to be raised."""
        place = ".".join(part for part in (self._place, key) if part)
        return RarsError(f"{self._file}: {place}: {message}.")

    def expect(self, keys: Iterable[str], optional: Collection[str] = ()) -> None:
        """All of these keys must be there, and no other but the optional ones."""
        known = dict.fromkeys(keys)
        for key in known:
            if key not in self._content:
                raise self.wrong(key, "is missing")
        for key in self._content:
            if key not in known and key not in optional:
                raise self.wrong(key, f"is unknown; known are {_some([*known, *optional])}")

    def table(self, key: str) -> WordTable:
        """The table of a key."""
        return self._as_table(self._get(key), key)

    def tables(self, key: str) -> tuple[WordTable, ...]:
        """The list of tables of a key (``[[key]]`` in the file)."""
        return tuple(
            self._as_table(one, f"{key}[{at}]")
            for at, one in enumerate(self._list(self._get(key), key), start=1)
        )

    def text(self, key: str) -> str:
        """The text of a key; it is not empty, and no space is at its ends."""
        return self._as_text(self._get(key), key)

    def texts(self, key: str, *, least: int = 1, repeats: bool = False) -> tuple[str, ...]:
        """The list of texts of a key: ``least`` or more, none twice unless ``repeats`` are allowed."""
        found = tuple(self._as_text(one, key) for one in self._list(self._get(key), key))
        if len(found) < least:
            raise self.wrong(key, f"holds {len(found)} texts, needed are {least} or more")
        if len(set(found)) < len(found) and not repeats:
            twice = next(text for at, text in enumerate(found) if text in found[:at])
            raise self.wrong(key, f"{twice!r} is there twice")
        return found

    def forms(self, key: str, counts: Collection[int]) -> tuple[str, ...]:
        """The texts of a key as they are: any of them may be empty or repeated, their number is given."""
        found = self._list(self._get(key), key)
        if len(found) not in counts:
            raise self.wrong(key, f"holds {len(found)} forms, needed are {_some(counts)}")
        for one in found:
            self._check(one, str, key)
        return tuple(found)

    def flag(self, key: str) -> bool:
        """The true or false of a key."""
        return bool(self._check(self._get(key), bool, key))

    def numbers(self, key: str) -> tuple[float, ...]:
        """The list of numbers of a key, at least one."""
        found = self._list(self._get(key), key)
        if not found:
            raise self.wrong(key, "is empty")
        for one in found:
            if isinstance(one, bool) or not isinstance(one, int | float):
                raise self.wrong(key, f"must hold numbers, not {one!r}")
        return tuple(found)

    def is_text(self, key: str) -> bool:
        """Whether a key holds a single text, where a list may stand as well."""
        return isinstance(self._get(key), str)

    def placeholders(
        self, key: str, text: str, allowed: Collection[str], required: Collection[str] = ()
    ) -> None:
        """The marks in braces of a text: only allowed ones, and one of the required ones if there are any."""
        marks = _PLACEHOLDER.findall(text)
        stray = next((mark for mark in marks if mark not in allowed and mark not in required), None)
        if stray is None and re.search("[{}]", _PLACEHOLDER.sub("", text)):
            stray = "a lone brace"
        if stray is not None:
            known = _some([*required, *allowed]) or "none"
            raise self.wrong(key, f"{text!r} has {stray}; allowed are {known}")
        if required and not any(mark in required for mark in marks):
            raise self.wrong(key, f"{text!r} lacks {' or '.join(required)}")

    def _get(self, key: str) -> Any:
        if key not in self._content:
            raise self.wrong(key, "is missing")
        return self._content[key]

    def _list(self, value: Any, key: str) -> list[Any]:
        found: list[Any] = self._check(value, list, key)
        return found

    def _as_table(self, value: Any, key: str) -> WordTable:
        place = f"{self._place}.{key}" if self._place else key
        return WordTable(self._check(value, dict, key), self._file, place)

    def _as_text(self, value: Any, key: str) -> str:
        text: str = self._check(value, str, key)
        if not text or text.strip() != text:
            raise self.wrong(key, f"{text!r} is empty or begins or ends with a space")
        return text

    def _check(self, value: Any, kind: type, key: str) -> Any:
        if not isinstance(value, kind):
            raise self.wrong(key, f"must be {_KINDS[kind]}, not {_KINDS.get(type(value), value)}")
        return value


_KINDS: dict[type, str] = {
    str: "a text",
    list: "a list",
    dict: "a table",
    bool: "true or false",
    int: "a number",
    float: "a number",
}


def read_words(path: Path) -> WordTable:
    """The table of a word file; mistakes name the file by its folder and name."""
    name = f"{path.parent.name}/{path.name}"
    try:
        return WordTable(tomllib.loads(path.read_text(encoding="utf-8")), name)
    except FileNotFoundError as error:
        raise RarsError(f"The word file {path} does not exist.") from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise RarsError(f"The word file {path} is not readable TOML: {error}.") from error


def _some(names: Iterable[object]) -> str:
    """Some names in a sentence, the first ten if there are more."""
    listed = [str(name) for name in names]
    return ", ".join(listed[:10]) + (", ..." if len(listed) > 10 else "")
