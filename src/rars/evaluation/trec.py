"""Runs and judgments as TREC files, so that any outside tool can check our numbers.

Owns: both formats, out and in. Ignores measures.

run    QUERY Q0 ITEM RANK SCORE TAG      one line per result, ranks from 1
qrels  QUERY 0 ITEM GRADE                one line per judgment

Outside tools ignore the rank: they sort by score, in 32-bit floats, and break ties each in their own way.
So scores are written strictly falling: a score that would not be below the one before it is lowered to the
next 32-bit number. Runs are read as trec_eval reads them: by falling score, then by falling item id.

White space, control characters and % in an id are written as %20, %0A, %25 and so on, since columns are
divided by spaces and lines by line breaks.
"""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rars import disk
from rars.arrays import Ints
from rars.data import Dataset, Judgments
from rars.errors import RarsError
from rars.evaluation.ranking import Ranking
from rars.systems import Ranked

_SPACE = r"%\x00-\x20" "\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
"""Spelled out: what is white space differs between Arrow's expressions and Python's."""
_LOW = np.int64(0x7FFFFFFF)


def write_run(path: Path, ranking: Ranking, dataset: Dataset, tag: str = "rars") -> None:
    """Write a run file; ``tag`` is the system's name."""
    write_run_of(path, ranking, dataset.query_ids, dataset.item_ids, tag)


def write_run_of(
    path: Path, ranking: Ranking, query_ids: pa.Array, item_ids: pa.Array, tag: str = "rars"
) -> None:
    """The same, given the ids that the ranking's row numbers stand for."""
    if not tag or re.search(r"\s", tag):
        raise RarsError(f"The tag {tag!r} of a run file must be one word.")
    ranked = ranking.ranked
    query = ranking.queries[ranked.owner]
    lines = pc.binary_join_element_wise(
        _written(query_ids).take(pa.array(query)),
        "Q0",
        _written(item_ids).take(pa.array(ranked.items)),
        pa.array(ranked.places + 1).cast(pa.string()),
        pa.array(falling(ranked)).cast(pa.string()),
        tag,
        " ",
    )
    _write(path, lines)


def read_run(path: Path, dataset: Dataset) -> Ranking:
    """Read a run file; a line that cannot be used is named."""
    lines, (query, _, item, _, score, _) = _columns(path, 6, "QUERY Q0 ITEM RANK SCORE TAG")
    with np.errstate(over="ignore"):  # too large is infinite, and refused below
        scores = _numbers(path, lines, score, "score").astype(np.float32) + np.float32(0)
    if not np.isfinite(scores).all():
        at = int(np.flatnonzero(~np.isfinite(scores))[0])
        raise _wrong(
            path, lines[at], f"the score {score[at].as_py()} is not a finite 32-bit number"
        )
    rows = _rows(path, lines, query, dataset.query_ids, dataset, "query")
    items = _rows(path, lines, item, dataset.item_ids, dataset, "item")
    _refuse_twice(path, lines, rows, items, query, item)
    order = pc.sort_indices(
        pa.table({"query": rows, "score": scores, "item": item}),
        sort_keys=[("query", "ascending"), ("score", "descending"), ("item", "descending")],
    ).to_numpy()
    queries, counts = np.unique(rows, return_counts=True)
    pointers = np.append(0, np.cumsum(counts)).astype(np.int64)
    return Ranking.of(queries, Ranked(pointers, items[order].astype(np.int32), scores[order]))


def write_qrels(path: Path, judgments: Judgments, dataset: Dataset) -> None:
    """Write the judgments of every query that has a relevant item.

    Queries without one are left out, as they are in our means: outside tools would count them as 0.
    """
    useful = np.unique(judgments.query[judgments.grade > 0])
    kept = judgments.where(np.isin(judgments.query, useful))
    grade = kept.grade.astype(np.float64)
    whole = grade == np.round(grade)
    lines = pc.binary_join_element_wise(
        _written(dataset.query_ids).take(pa.array(kept.query)),
        "0",
        _written(dataset.item_ids).take(pa.array(kept.item)),
        pc.if_else(
            pa.array(whole),
            pa.array(np.round(grade).astype(np.int64)).cast(pa.string()),
            pa.array(kept.grade).cast(pa.string()),
        ),
        " ",
    )
    _write(path, lines)


def read_qrels(path: Path, dataset: Dataset) -> Judgments:
    """Read judgments; of duplicates the highest grade counts, and a grade below 0 is 0."""
    lines, (query, _, item, grade) = _columns(path, 4, "QUERY 0 ITEM GRADE")
    grades = _numbers(path, lines, grade, "grade")
    if not np.isfinite(grades).all():
        at = int(np.flatnonzero(~np.isfinite(grades))[0])
        raise _wrong(path, lines[at], f"the grade {grade[at].as_py()} is not finite")
    rows = _rows(path, lines, query, dataset.query_ids, dataset, "query")
    items = _rows(path, lines, item, dataset.item_ids, dataset, "item")
    return Judgments.merged(rows, items, np.maximum(grades, 0))


def falling(ranked: Ranked) -> npt.NDArray[np.float32]:
    """Scores as 32-bit numbers that fall strictly within each query, each as little lowered as possible.

    >>> falling(Ranked.of_lists([[3, 1, 2]], [[0.5, 0.5, 0.25]])).tolist()
    [0.5, 0.4999999701976776, 0.25]
    """
    bits = ranked.scores.view(np.int32).astype(np.int64)
    # As whole numbers in the order of the floats: one step is the next float.
    level = np.where(bits < 0, -(bits & _LOW), bits)
    # level[j] <= level[j - 1] - 1 at every place is "level + place never rises".
    apart = ranked.owner << 40
    least = np.minimum.accumulate(level + ranked.places - apart) + apart - ranked.places
    lowered = np.where(least < 0, -least | ~_LOW, least)
    return lowered.astype(np.uint32).view(np.float32) if len(lowered) else ranked.scores


def _write(path: Path, lines: pa.Array) -> None:
    disk.write_text(path, "".join(f"{line}\n" for line in lines.to_pylist()))


def _written(ids: pa.Array) -> pa.Array:
    """Ids as they stand in a file."""
    unsafe = pc.match_substring_regex(ids, f"[{_SPACE}]")
    if not pc.any(unsafe).as_py():
        return ids
    safe = [
        re.sub(f"[{_SPACE}]", lambda m: quote(m.group()), one.as_py()) for one in ids.filter(unsafe)
    ]
    return pc.replace_with_mask(ids, unsafe, pa.array(safe, pa.string()))


def _columns(path: Path, count: int, form: str) -> tuple[Ints, list[pa.Array]]:
    """Line numbers and columns of all lines that are not blank."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise RarsError(f"{path} does not exist.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise RarsError(f"{path} cannot be read as text: {error}.") from error
    rows = [line.split() for line in text.split("\n")]
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    wrong = np.flatnonzero((lengths != count) & (lengths != 0))
    if len(wrong):
        found = lengths[wrong[0]]
        raise _wrong(path, wrong[0] + 1, f"has {found} columns instead of {count} ({form})")
    lines = np.flatnonzero(lengths) + 1
    if not len(lines):
        raise RarsError(f"{path} is empty.")
    columns = zip(*(row for row in rows if row), strict=True)
    return lines, [pa.array(column, pa.string()) for column in columns]


def _numbers(path: Path, lines: Ints, column: pa.Array, what: str) -> npt.NDArray[np.float64]:
    try:
        return np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False))
    except pa.ArrowInvalid:
        pass
    values = np.empty(len(column))
    for at, text in enumerate(column.to_pylist()):  # rare: numbers written in an unusual way
        try:
            values[at] = float(text)
        except ValueError as error:
            raise _wrong(path, lines[at], f"the {what} {text!r} is not a number") from error
    return values


def _rows(
    path: Path, lines: Ints, names: pa.Array, ids: pa.Array, dataset: Dataset, what: str
) -> Ints:
    """Row numbers of ids as written; an id that is not known that way may stand as it is."""
    found = pc.index_in(names, _written(ids))
    if found.null_count:
        found = pc.coalesce(found, pc.index_in(names, ids))
    if found.null_count:
        at = int(np.flatnonzero(pc.is_null(found).to_numpy(zero_copy_only=False))[0])
        name = names[at].as_py()
        raise _wrong(path, lines[at], f"the dataset {dataset.name!r} has no {what} {name!r}")
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.int64)


def _refuse_twice(
    path: Path, lines: Ints, rows: Ints, items: Ints, query: pa.Array, item: pa.Array
) -> None:
    order = np.lexsort((lines, items, rows))
    again = (np.diff(rows[order]) == 0) & (np.diff(items[order]) == 0)
    if again.any():
        first, second = min(
            zip(order[:-1][again], order[1:][again], strict=True), key=lambda p: p[1]
        )
        raise _wrong(
            path,
            lines[second],
            f"item {item[second].as_py()!r} is ranked again for query {query[second].as_py()!r} "
            f"(first on line {lines[first]})",
        )


def _wrong(path: Path, line: int | np.integer[npt.NBitBase], message: str) -> RarsError:
    return RarsError(f"{path}, line {line}: {message}.")
