"""``make hostile``: the whole hunt for an hour, or as long as asked.

    python -m tests.hostile                        all areas, an hour, then every kill point
    python -m tests.hostile texts tables --minutes 5 --seed 7

The areas take turns, each turn with a seed of its own and in a process of its own, so that one that its input
tears down is found too and the hunt goes on. What goes wrong is printed with its area and seed, counted once
a place in the code, and kept as a case of its own (``found``). It ends with a table, and with exit code 1 if
anything was found. A process that starts another one, or a shell, counts as code that was executed.
"""

from __future__ import annotations

import argparse
import importlib
import json
import mmap
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rars.errors import RarsError
from tests.hostile import case as making
from tests.hostile import found, killpoints
from tests.hostile.case import Case

TURNS = {
    "texts": 10,
    "tables": 20,
    "queries": 30,
    "recipes": 20,
    "folders": 40,
    "commands": 40,
    "trainings": 40,
}
"""Seconds of a turn: the longer a case takes, the longer its area."""
PATIENCE = 60
"""Seconds of work after which a case is a defect."""
WAITING = 10
"""And so many times as long, if it does nothing but wait."""
_EXECUTED = ("os.system", "os.exec", "os.posix_spawn", "subprocess.Popen", "pickle.find_class")


class TooLong(BaseException):
    """A case that does not end; no error of an operating system, and caught by nobody."""


@dataclass
class Tally:
    """What an area came to."""

    cases: int = 0
    refused: int = 0
    slowest: float = 0.0
    defects: list[list[str]] = field(default_factory=list)
    executed: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Count a turn."""
        self.cases += other.cases
        self.refused += other.refused
        self.slowest = max(self.slowest, other.slowest)
        self.defects += other.defects
        self.executed += other.executed


def main() -> int:
    """Hunt, print the table, kill."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile")
    parser.add_argument("areas", nargs="*", help=f"of {', '.join(TURNS)}; all by default")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    if unknown := set(asked.areas) - set(TURNS):
        parser.error(f"there is no area {', '.join(sorted(unknown))}")
    killpoints.load()
    # On a new machine the first figure lists the fonts, by a program: that is no case's doing.
    importlib.import_module("matplotlib.font_manager")
    making.apart = True
    names = asked.areas or list(TURNS)
    for name in names:
        next(found.AREAS[name].cases(random.Random(0)))  # what its cases are made from
    started = time.monotonic()
    tallies = _hunt(names, asked.minutes * 60, asked.seed)
    _show(tallies, time.monotonic() - started)
    wrong = any(one.defects or one.executed for one in tallies.values())
    sys.argv = sys.argv[:1]
    killed = 0 if asked.areas else killpoints.main()
    return 1 if wrong or killed else 0


def _show(tallies: dict[str, Tally], seconds: float) -> None:
    print(f"\n{'area':10} {'cases':>10} {'refused':>10} {'defects':>8} {'slowest, s':>11}")
    for name, one in tallies.items():
        print(
            f"{name:10} {one.cases:10,} {one.refused:10,} {len(one.defects):8,} {one.slowest:11.1f}"
        )
    every = Tally()
    for one in tallies.values():
        every.add(one)
    print(f"{'all':10} {every.cases:10,} {every.refused:10,} {len(every.defects):8,}")
    executed = dict(Counter(every.executed)) or "none"
    print(f"{seconds / 60:.1f} minutes; code executed: {executed}", flush=True)


def _hunt(names: list[str], seconds: float, seed: int) -> dict[str, Tally]:
    """Turn after turn until the time is over."""
    tallies = {name: Tally() for name in names}
    seen: set[tuple[str, ...]] = set()
    for name, ends, one in _turns(names, seconds, seed):
        turn = _apart(name, ends, one, seen)
        tallies[name].add(turn)
        seen.update(map(tuple, turn.defects))
    return tallies


def _turns(names: list[str], seconds: float, seed: int) -> Iterator[tuple[str, float, int]]:
    """An area, when its turn ends, and the seed of the turn, until the time is over."""
    over = time.monotonic() + seconds
    part = min(1.0, seconds / (2 * sum(TURNS[name] for name in names)))
    while time.monotonic() < over:
        for name in names:
            yield name, min(over, time.monotonic() + TURNS[name] * part), seed
        seed += 1


def _apart(name: str, ends: float, seed: int, seen: set[tuple[str, ...]]) -> Tally:
    """One turn in a process of its own; one that dies is a defect of the case it was at."""
    number = mmap.mmap(-1, 8)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "turn.json"
        code = killpoints.forked(lambda: _turn(name, ends, seed, seen, number, report))
        known = json.loads(report.read_text()) if report.exists() else None
    at = int.from_bytes(number[:8], "little")
    if known is not None and code == 0:
        return Tally(**known)
    what = f"the process ended with {code}"
    kept = found.keep(name, seed, at, Case("", lambda: None), what)
    print(f"-- {name}, seed {seed}, case {at}: {what}; kept as {kept.name}", flush=True)
    return Tally(cases=at, defects=[[name, what, str(seed)]])


def _turn(
    name: str,
    ends: float,
    seed: int,
    seen: set[tuple[str, ...]],
    number: mmap.mmap,
    report: Path,
) -> int:
    """Cases of an area until its turn ends; what they came to is written to ``report``."""
    tally, known = Tally(), set(seen)

    def heard(event: str, given: tuple[Any, ...]) -> None:
        if event in _EXECUTED:
            tally.executed.append(f"{event} {given[:1]}")

    sys.addaudithook(heard)
    for at, case in enumerate(found.AREAS[name].cases(random.Random(seed))):
        number[:8] = at.to_bytes(8, "little")
        began = time.monotonic()
        try:
            with _patient():
                case.run()
        except RarsError:
            tally.refused += 1
        except (Exception, TooLong) as error:
            steps = traceback.extract_tb(error.__traceback__)[-2:]
            places = (f"{Path(step.filename).name}:{step.lineno}" for step in steps)
            place = (name, type(error).__name__, *places)
            if place not in known:
                known.add(place)
                tally.defects.append(list(place))
                said = f"{type(error).__name__}: {error}"
                kept = found.keep(name, seed, at, case, said)
                print(f"-- {name}, seed {seed}, case {at}, kept as {kept.name}: {case.name[:2000]}")
                traceback.print_exception(error, file=sys.stdout)
                sys.stdout.flush()
        tally.cases += 1
        now = time.monotonic()
        tally.slowest = max(tally.slowest, now - began)
        if now > ends:
            break
    report.write_text(json.dumps(vars(tally)))
    return 0


@contextmanager
def _patient() -> Iterator[None]:
    """A limit to what a case may take: of the processor, so that a busy machine is no defect of the case."""
    clock, used = time.monotonic(), time.process_time()

    def over(*_: Any) -> None:
        worked, waited = time.process_time() - used, time.monotonic() - clock
        if worked < PATIENCE and waited < WAITING * PATIENCE:
            signal.setitimer(signal.ITIMER_REAL, max(1.0, PATIENCE - worked))
            return
        raise TooLong(f"{worked:.0f} s of work in {waited:.0f} s")

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
