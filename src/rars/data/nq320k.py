"""Natural Questions as a catalogue of pages: NQ320K.

Owns: pages deduplicated by title, one query per example, and the seen / unseen partition of the dev queries.
Ignores answers: the page a question was annotated on is its one relevant item (grade 1).

Two files go in, one JSON object per line, each line a whole page: ``simplified`` lines hold ``document_text``
and no title, ``full`` lines hold ``document_tokens`` and ``document_title``. Pages are written as they appear
and only their titles are remembered, so memory does not grow with the texts. A dev query is unseen if no
training example is about its page.
"""

from __future__ import annotations

import html
import json
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pyarrow as pa

from rars import places
from rars.data.folder import DatasetWriter, refuse_foreign, writing_dataset
from rars.data.markup import first_words
from rars.data.problems import Problems
from rars.data.splits import with_validation
from rars.data.tables import BROKEN, Meter, existing, first_line, open_bytes
from rars.errors import RarsError
from rars.progress import Advance

WORDS = 512
"""How much of a page is kept, counted in words."""

_CHUNK = 5_000
_SUFFIX = re.compile(r"\s+-\s+wikipedia\b", re.IGNORECASE)
_TITLE_SPAN = 400  # a page that starts with its title has it here
_PIECES = re.compile(r"[^\W_]+|[^\w\s]|_")


@dataclass(frozen=True)
class NqCounts:
    """What the two files gave."""

    items: int
    train_queries: int
    dev_queries: int
    seen: int
    unseen: int

    def as_json(self) -> dict[str, int]:
        """The counts as plain values."""
        return asdict(self)


@dataclass
class _Pages:
    """Pages met so far by normalised title; new ones wait in ``rows`` until the next chunk."""

    writer: DatasetWriter
    numbers: dict[str, int] = field(default_factory=dict)
    rows: list[dict[str, str]] = field(default_factory=list)

    def number(self, title: str, example: dict[str, Any]) -> int:
        """The number of the example's page; the first example of a page brings its text."""
        key = normal_title(title)
        known = self.numbers.get(key)
        if known is not None:
            return known
        number = self.numbers[key] = len(self.numbers)
        self.rows.append({"id": f"d{number}", "title": title, "text": page_text(example)})
        if len(self.rows) >= _CHUNK:
            self.flush()
        return number

    def flush(self) -> None:
        """Write the pages that wait."""
        kinds = pa.schema([(name, pa.string()) for name in ("id", "title", "text")])
        self.writer.add("items", pa.Table.from_pylist(self.rows, kinds))
        self.rows.clear()


@dataclass
class _Asked:
    """The queries of one file: id, text and page, aligned."""

    ids: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    pages: list[int] = field(default_factory=list)


def make_nq320k(
    train: Path, dev: Path, folder: Path, *, advance: Advance | None = None
) -> NqCounts:
    """Write the dataset folder from a train and a dev file of Natural Questions."""
    folder = places.target(folder, replaced=True)
    refuse_foreign(folder)
    meter = Meter([existing(train), existing(dev)], advance)
    problems = Problems()
    facts: dict[str, int] = {}
    with writing_dataset(
        folder, name="nq320k", licence="CC BY-SA 3.0", grades="numbers", nq320k=facts
    ) as writer:
        pages = _Pages(writer)
        known: set[str] = set()
        trained = _read(train, pages, known, problems, meter)
        asked = _read(dev, pages, known, problems, meter)
        problems.stop("nothing was written")
        pages.flush()
        seen = set(trained.pages)
        partition = ["seen" if page in seen else "unseen" for page in asked.pages]
        split = with_validation(trained.ids, ["train"] * len(trained.ids))
        writer.add("queries", _queries(trained, split, [None] * len(split)))
        writer.add("queries", _queries(asked, ["test"] * len(partition), partition))
        writer.add("judgments", _judgments(trained))
        writer.add("judgments", _judgments(asked))
        counts = NqCounts(
            items=len(pages.numbers),
            train_queries=len(trained.ids),
            dev_queries=len(asked.ids),
            seen=partition.count("seen"),
            unseen=partition.count("unseen"),
        )
        facts.update(counts.as_json())
    return counts


def find_file(folder: Path, word: str, option: str) -> Path:
    """The one JSON-lines file in ``folder`` whose name has ``word`` in it."""
    if not folder.is_dir():
        raise RarsError(f"{folder} does not exist; expected the folder of Natural Questions.")
    found = sorted(path for path in folder.glob(f"*{word}*") if ".json" in path.name)
    if len(found) != 1:
        what = f"{len(found)} files" if found else "no file"
        raise RarsError(f"{folder} has {what} named *{word}*.jsonl[.gz]; name one with {option}.")
    return found[0]


def normal_title(title: str) -> str:
    """The form in which two titles are the same page: lower case, no accents, signs set apart.

    >>> normal_title("Beyoncé (Album)") == normal_title("beyonce ( album )")
    True
    """
    plain = unicodedata.normalize("NFD", html.unescape(title).casefold())
    kept = "".join(sign for sign in plain if unicodedata.category(sign) != "Mn")
    return " ".join(_PIECES.findall(kept))


def page_title(example: dict[str, Any]) -> str | None:
    """The page's title: given, before " - Wikipedia" in its text, or in its address.

    >>> page_title({"document_text": "Email marketing - Wikipedia <H1> Email marketing </H1>"})
    'Email marketing'
    >>> page_title({"document_url": "//en.wikipedia.org/w/index.php?title=The_Who&amp;oldid=1"})
    'The Who'
    """
    given = _text(example, "document_title")
    if given:
        return _SUFFIX.split(given)[0].strip() or None
    head = (_text(example, "document_text") or "")[:_TITLE_SPAN]
    match = _SUFFIX.search(head)
    before = head[: match.start()].strip() if match else ""
    return before if before and "<" not in before else _title_in_url(example)


def page_text(example: dict[str, Any]) -> str:
    """The first words of the page, tags left out."""
    whole = _text(example, "document_text")
    if whole is not None:
        return first_words(whole, WORDS)
    return " ".join(" ".join(_words(example.get("document_tokens"))).split()[:WORDS])


def _words(tokens: Any) -> Iterator[str]:
    count = 0
    for token in tokens if isinstance(tokens, list) else ():
        if count == WORDS:
            return
        if isinstance(token, dict) and not token.get("html_token"):
            yield str(token.get("token", ""))
            count += 1


def _title_in_url(example: dict[str, Any]) -> str | None:
    address = urlsplit(html.unescape(_text(example, "document_url") or ""))
    named = parse_qs(address.query).get("title")
    last = named[0] if named else unquote(address.path.rpartition("/")[2])
    return last.replace("_", " ").strip() or None


def _text(example: dict[str, Any], name: str) -> str | None:
    value = example.get(name)
    return value if isinstance(value, str) else None


def _read(path: Path, pages: _Pages, known: set[str], problems: Problems, meter: Meter) -> _Asked:
    asked = _Asked()
    for row, example in _examples(path, problems, meter):
        question, title = (_text(example, "question_text") or "").strip(), page_title(example)
        if not question:
            problems.add(path, "empty text", row=row, column="question_text")
        if title is None:
            problems.add(
                path, "no title, and none in the text or url", row=row, column="document_title"
            )
        name = str(example.get("example_id", f"{path.name}:{row}"))
        if name in known:
            problems.add(path, f"duplicate id {name!r}", row=row, column="example_id")
        known.add(name)
        if question and title is not None:
            asked.ids.append(name)
            asked.texts.append(question)
            asked.pages.append(pages.number(title, example))
    if not asked.ids and not len(problems):
        problems.add(path, "empty file: the file has no rows")
    return asked


def _examples(path: Path, problems: Problems, meter: Meter) -> Iterator[tuple[int, dict[str, Any]]]:
    """Row and object of every line; lines that are neither are noted."""
    try:
        with open_bytes(path, meter) as stream:
            for row, line in enumerate(stream, 1):
                if line.isspace():
                    continue
                try:
                    example = json.loads(line)
                except UnicodeDecodeError:
                    problems.add(path, "broken encoding: not UTF-8", row=row)
                except ValueError as error:
                    problems.add(path, f"broken JSON: {error}", row=row)
                else:
                    if isinstance(example, dict):
                        yield row, example
                    else:
                        problems.add(path, "broken JSON: the line is not an object", row=row)
    except BROKEN as error:
        problems.add(path, f"broken file: {first_line(error)}")


def _queries(asked: _Asked, split: list[str], partition: list[str] | list[None]) -> pa.Table:
    return pa.table(
        {
            "id": pa.array(asked.ids, pa.string()),
            "text": pa.array(asked.texts, pa.string()),
            "locale": pa.array(["en"] * len(split), pa.string()),
            "split": pa.array(split, pa.string()),
            "partition": pa.array(partition, pa.string()),
        }
    )


def _judgments(asked: _Asked) -> pa.Table:
    return pa.table(
        {
            "query_id": pa.array(asked.ids, pa.string()),
            "item_id": pa.array([f"d{page}" for page in asked.pages], pa.string()),
            "grade": pa.array([1.0] * len(asked.ids), pa.float32()),
        }
    )
