"""Every command that writes, killed at each of its file-system operations in turn.

Owns: the shim that counts operations and makes the Nth one the process's death, the commands and the folders
they start from, and the two questions asked after each death: is every part the old one or the new one, and
does the same command then end as if nothing had happened, bit for bit.

    python -m tests.hostile.killpoints              all points of all commands, and a table
    python -m tests.hostile.killpoints --sample 4   four points of each command, spread evenly

Counted are: opening a file to write (twice: before, and when it is there and empty), mkdir, rename, unlink,
rmdir, link, symlink, truncate and fsync. Every death is a fork of one process that has loaded all libraries.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DIED = 77
_OPERATIONS = {
    "os.mkdir": 0,
    "os.rename": 0,
    "os.remove": 0,
    "os.rmdir": 0,
    "os.link": 1,
    "os.symlink": 1,
    "os.truncate": 0,
}
"""Audit events, and which of their arguments is the path."""
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_VOLATILE = frozenset({"seconds", "at", "pairs_per_second", "memory_mb", "python", "libraries"})
"""What differs between two equal runs."""
_WAY = frozenset(
    {
        *("checkpoints", "best", "candidates", "journal.jsonl", "manifest.json"),
        *("tuning.json", "trials"),
    }
)
"""What grows on the way: whole at any time, but neither the old nor the new."""


class Shim:
    """Counts the operations below a folder; at number ``deadly`` the process ends on the spot."""

    def __init__(self, home: Path, deadly: int | None) -> None:
        self.home, self.deadly, self.count = str(home), deadly, 0
        self.quiet = False

    def install(self) -> None:
        """From now on, for the rest of this process."""
        sys.addaudithook(self._heard)

        def counted(descriptor: Any) -> None:
            self._operation()  # a process dies here, not the power: nothing has to reach the disk

        os.fsync = counted

    def _heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.quiet:
            return
        if event == "open":
            path, _, flags = arguments
            if isinstance(flags, int) and flags & _WRITES and self._ours(path):
                self._operation()
                self._operation(lambda: self._emptied(path, flags))
        elif event in _OPERATIONS and self._ours(arguments[_OPERATIONS[event]]):
            self._operation()

    def _ours(self, path: Any) -> bool:
        if isinstance(path, int):
            return True
        text = os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else ""
        # A relative name is one inside a folder that is being removed.
        return text.startswith(self.home) or not text.startswith("/")

    def _emptied(self, path: Any, flags: int) -> None:
        if flags & os.O_CREAT:
            os.close(os.open(path, flags & ~os.O_EXCL, 0o666))

    def _operation(self, last: Callable[[], None] | None = None) -> None:
        self.count += 1
        if self.count == self.deadly:
            self.quiet = True
            if last is not None:
                last()
            os._exit(DIED)


# -- commands --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A command (words, ``{home}`` is the folder it works in) and the cases done before it."""

    name: str
    words: str
    after: tuple[str, ...] = ()


_QUICK = (
    "--set model.vocabulary=300 --set identifiers.sizes=[4,4] --set training.epochs=1 "
    "--set training.pairs=512 --set search.rule=hybrid"
)
_TRAIN = "train base --data {home}/shop --out {home}/run --size tiny " + _QUICK
CASES = [
    Case("data shop, new", "data shop {home}/shop --size 100"),
    Case("data shop, again", "data shop {home}/shop --size 110 --seed 1", ("data shop, new",)),
    Case(
        "identify",
        "identify --recipe base --data {home}/shop --out {home}/run --size tiny " + _QUICK,
        ("data shop, new",),
    ),
    Case("train", _TRAIN, ("data shop, new",)),
    Case(
        "tune",
        "tune {home}/shop --out {home}/run --set model.vocabulary=300 --set training.epochs=1 "
        "--set training.pseudo.share=1",
        ("data shop, new",),
    ),
    Case("index --force", "index {home}/run --force", ("data shop, new", "train")),
    Case("catalog add", "catalog add {home}/run {home}/new.jsonl", ("data shop, new", "train")),
    Case(
        "catalog remove",
        "catalog remove {home}/run {home}/new.jsonl",
        ("data shop, new", "train", "catalog add"),
    ),
    Case(
        "catalog update",
        "catalog update {home}/run {home}/other.jsonl",
        ("data shop, new", "train", "catalog add"),
    ),
    Case(
        "catalog rollback",
        "catalog rollback {home}/run",
        ("data shop, new", "train", "catalog add"),
    ),
    Case("catalog apply", "catalog apply {home}/run {home}/new.jsonl", ("data shop, new", "train")),
    Case(
        "catalog prune",
        "catalog prune {home}/run --keep 0",
        ("data shop, new", "train", "catalog add"),
    ),
    Case("evaluate", "evaluate {home}/run --rule ar,all", ("data shop, new", "train")),
    Case("index --tune", "index {home}/run --tune", ("data shop, new", "train")),
    Case("train bm25", "train bm25 --data {home}/shop --out {home}/words", ("data shop, new",)),
    Case(
        "train bm25, again",
        "train bm25 --data {home}/shop --out {home}/words --set bm25.k1=2.0",
        ("data shop, new", "train bm25"),
    ),
    Case(
        "data import",
        "data import {home}/mine --items {home}/new.jsonl --queries {home}/queries.jsonl "
        "--judgments {home}/judged.jsonl",
    ),
    Case("inspect", "inspect {home}/run", ("data shop, new", "train")),
    Case("plot", "plot {home}/run", ("data shop, new", "train")),
    Case("analyze", "analyze {home}/run ambiguity", ("data shop, new", "train")),
    Case("report", "report {home}/run", ("data shop, new", "train", "evaluate")),
    Case(
        "search --out",
        "search {home}/run --queries {home}/queries.jsonl --out {home}/hits.jsonl",
        ("data shop, new", "train"),
    ),
    Case(
        "compare --markdown",
        "compare {home}/run bm25 --rule ar --markdown {home}/table.md",
        ("data shop, new", "train", "evaluate"),
    ),
]
NEW = [{"id": f"N{n}", "title": f"zyxquor theremin {n}"} for n in (1, 2)]
OTHER = [{"id": f"N{n}", "title": f"another theremin {n}"} for n in (1, 2)]
QUERIES = [{"id": f"Q{n}", "text": f"theremin {n}"} for n in (1, 2)]
JUDGED = [{"query_id": f"Q{n}", "item_id": f"N{n}", "grade": 3} for n in (1, 2)]
FILES = {"new": NEW, "other": OTHER, "queries": QUERIES, "judged": JUDGED}


# -- what is there ---------------------------------------------------------------------------------


def state(home: Path) -> dict[str, Any]:
    """Every artefact by its digest and facts, every other file by its content; all must be whole."""
    return dict(_parts(home, home))


def _parts(folder: Path, home: Path) -> Iterator[tuple[str, Any]]:
    from rars import artifacts, replacing

    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        name = str(path.relative_to(home))
        if not path.is_dir():
            yield name, _content(path)
            continue
        for manifest in ("dataset.json", "manifest.json"):
            sealed = replacing.current(path) / manifest
            kind = json.loads(sealed.read_text())["kind"] if sealed.exists() else "run"
            if kind != "run":
                found = artifacts.opening(path, kind=kind, manifest=manifest)
                yield name, (found.digest, _steady(found.meta))
                break
        else:
            yield from _parts(path, home)


def _content(path: Path) -> Any:
    try:
        text = path.read_text()
    except UnicodeDecodeError:  # a figure
        return path.read_bytes()
    if path.suffix == ".json":
        return _steady(json.loads(text))
    if path.suffix == ".jsonl":
        lines = text.splitlines()
        if lines and not text.endswith("\n"):
            lines = lines[:-1]  # a line that a kill cut short is never read
        return [_steady(json.loads(line)) for line in lines]
    return text


def _steady(value: Any) -> Any:
    if isinstance(value, dict):
        # The digest of stored numbers covers nothing volatile; that of a manifest is of its files.
        return {key: _steady(one) for key, one in value.items() if key not in _VOLATILE}
    if isinstance(value, list | tuple):
        return [_steady(one) for one in value]
    return value


def between(now: dict[str, Any], old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """The parts that are neither the old nor the new."""
    absent = object()
    return [
        name
        for name in sorted({*now, *old, *new})
        if not _WAY & set(Path(name).parts)
        and now.get(name, absent) not in (old.get(name, absent), new.get(name, absent))
    ]


# -- running ---------------------------------------------------------------------------------------


def forked(work: Callable[[], int]) -> int:
    """The exit code of some work in a process of its own."""
    process = os.fork()
    if process:
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    code = 99
    try:
        code = work()
    except BaseException as error:  # whatever it is, it must not return into the parent's code
        print(f"{type(error).__name__}: {error}", file=sys.__stderr__)
        code = 2 if type(error).__name__ == "RarsError" else 98
    finally:
        sys.stderr.flush()
        os._exit(code)


def command(home: Path, words: str, shim: Shim | None = None, counts: Path | None = None) -> int:
    """Run a command in this process."""
    from rars.cli import app

    os.chdir("/")
    if shim is not None:
        shim.install()
    with (
        Path(os.devnull).open("w") as nowhere,
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        code = app(words.format(home=home).split(), standalone_mode=False)
    if shim is not None and counts is not None:
        shim.quiet = True
        counts.write_text(str(shim.count))
    return int(code or 0)


def opens(run: Path) -> None:
    """A run that could be searched can still be searched."""
    from rars.pipeline.opening import open_system

    open_system(run)


@dataclass
class World:
    """Where cases start and end: ``made/CASE`` after each, ``work`` the folder of all commands."""

    base: Path

    @property
    def work(self) -> Path:
        """The folder in which every command runs: paths in files are the same each time."""
        return self.base / "work"

    def place(self, names: tuple[str, ...]) -> None:
        """Put the folder back as it is after these cases."""
        shutil.rmtree(self.work, ignore_errors=True)
        if names:
            shutil.copytree(self._made(names), self.work, symlinks=True)
            return
        self.work.mkdir()
        for name, rows in FILES.items():
            lines = "".join(json.dumps(one) + "\n" for one in rows)
            (self.work / f"{name}.jsonl").write_text(lines)

    def ready(self, names: tuple[str, ...]) -> None:
        """Make what these cases leave behind."""
        for end in range(1, len(names) + 1):
            if not self._made(names[:end]).exists():
                self.place(names[: end - 1])
                words = next(case.words for case in CASES if case.name == names[end - 1])
                assert forked(lambda words=words: command(self.work, words)) == 0, names[:end]
                shutil.copytree(self.work, self._made(names[:end]), symlinks=True)

    def _made(self, names: tuple[str, ...]) -> Path:
        return self.base / "made" / "-".join(names).replace(" ", "_").replace(",", "")


@dataclass
class Outcome:
    """What became of a case: its points, those tried, and what went wrong."""

    name: str
    points: int
    tried: int
    wrong: list[str]
    seconds: float


def killed(world: World, case: Case, sample: int | None = None) -> Outcome:
    """Kill a case at each of its operations, or at some of them."""
    started = time.monotonic()
    world.ready((*case.after, case.name))
    world.place((*case.after, case.name))
    new = state(world.work)
    world.place(case.after)
    old = state(world.work)
    counts = world.base / "count"
    shim = Shim(world.work, None)
    assert forked(lambda: command(world.work, case.words, shim, counts)) == 0
    points = int(counts.read_text())
    chosen = range(1, points + 1)
    if sample is not None and sample < points:
        chosen = [1 + round(n * (points - 1) / max(1, sample - 1)) for n in range(sample)]
    _warm(world)
    wrong = []
    for point in chosen:
        found = _one(world, case, point, old, new)
        if found is not None:
            wrong.append(f"{case.name}, operation {point}: {found}")
    return Outcome(case.name, points, len(chosen), wrong, time.monotonic() - started)


def _one(
    world: World, case: Case, point: int, old: dict[str, Any], new: dict[str, Any]
) -> str | None:
    world.place(case.after)
    deadly = Shim(world.work, point)
    code = forked(lambda: command(world.work, case.words, deadly))
    if code != DIED:
        return f"it ended with {code} instead of dying"
    now = state(world.work)
    if odd := between(now, old, new):
        return f"{', '.join(odd)} is neither the old nor the new"
    before = [run for run in ("run", "words") if f"{run}/model" in old]
    if before and forked(lambda: [opens(world.work / run) for run in before] and 0):
        return "what could be searched before cannot be searched now"
    if now != new:
        code = forked(lambda: command(world.work, case.words))
        if code:
            return f"the same command ended with {code}"
        now = state(world.work)
        differ = [name for name in sorted({*now, *new}) if now.get(name) != new.get(name)]
        if differ:
            return f"in the end {', '.join(differ)} differ"
        if left := [str(p.relative_to(world.work)) for p in world.work.rglob(".*.partial")]:
            return f"{', '.join(left)} is left"
    return None


def _warm(world: World) -> None:
    """Read a catalogue once, as every command does: what is compiled for it need not be in each fork."""
    from rars.data import Dataset
    from rars.search.rehearsal import rehearse

    if (world.work / "shop").exists():
        rehearse(Dataset.load(world.work / "shop"), levels=3)


def load() -> None:
    """Import what commands use, once."""
    import tests.preloaded  # noqa: F401


def main() -> int:
    """The table of all commands."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, help="points of each command")
    parser.add_argument("--only", nargs="*", help="cases of these names")
    asked = parser.parse_args()
    load()
    bad = 0
    print(f"{'command':20} {'points':>6} {'tried':>6} {'wrong':>6} {'seconds':>8}")
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        os.environ["RARS_CACHE"] = str(Path(folder).resolve() / "cache")
        world = World(Path(folder).resolve())
        for case in CASES:
            if asked.only is None or case.name in asked.only:
                done = killed(world, case, asked.sample)
                bad += len(done.wrong)
                numbers = f"{done.points:6} {done.tried:6} {len(done.wrong):6} {done.seconds:8.1f}"
                print(f"{done.name:20} {numbers}", *done.wrong, sep="\n  ", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
