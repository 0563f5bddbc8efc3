"""``make hostile``: the whole hunt for an hour, or as long as asked.

    python -m tests.hostile                        all areas, an hour, then every kill point
    python -m tests.hostile texts tables --minutes 5 --seed 7

The areas take turns of half a minute, each with a seed of its own. What goes wrong is printed with its area
and seed, counted once a place in the code, and the hunt goes on; it ends with a table and exit code 1 if
anything was found. A process that starts another one, or a shell, counts as code that was executed.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator

from rars.errors import RarsError
from tests.hostile import folders, killpoints, queries, recipes, tables, texts
from tests.hostile.case import Cases

AREAS: dict[str, Cases] = {
    "texts": texts.cases,
    "tables": tables.cases,
    "queries": queries.cases,
    "recipes": recipes.cases,
    "folders": folders.cases,
}
TURN = 30.0
_EXECUTED = ("os.system", "os.exec", "os.posix_spawn", "subprocess.Popen", "pickle.find_class")


def main() -> int:
    """Hunt, print the table, kill."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile")
    parser.add_argument("areas", nargs="*", help=f"of {', '.join(AREAS)}; all by default")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    if unknown := set(asked.areas) - set(AREAS):
        parser.error(f"there is no area {', '.join(sorted(unknown))}")
    executed: Counter[str] = Counter()
    sys.addaudithook(lambda event, _: executed.update([event] if event in _EXECUTED else []))
    names = asked.areas or list(AREAS)
    counts, found = _hunt(names, asked.minutes * 60, asked.seed)
    print(f"\n{'area':10} {'cases':>9} {'refused':>9} {'defects':>8}")
    for name in names:
        print(f"{name:10} {counts[name, 'cases']:9,} {counts[name, 'refused']:9,} {found[name]:8,}")
    print(f"code executed: {dict(executed) or 'none'}", flush=True)
    sys.argv = sys.argv[:1]
    killed = 0 if asked.areas else killpoints.main()
    return 1 if found or executed or killed else 0


def _hunt(
    names: list[str], seconds: float, seed: int
) -> tuple[Counter[tuple[str, str]], Counter[str]]:
    """Cases and refusals of each area, and the places in the code where it found a defect."""
    counts: Counter[tuple[str, str]] = Counter()
    found: Counter[str] = Counter()
    seen: set[tuple[str, ...]] = set()
    for name, ends, one in _turns(names, seconds, seed):
        for case in AREAS[name](random.Random(one)):
            try:
                case.run()
            except RarsError:
                counts[name, "refused"] += 1
            except Exception as error:
                steps = traceback.extract_tb(error.__traceback__)[-2:]
                place = (
                    name,
                    type(error).__name__,
                    *(f"{at.filename}:{at.lineno}" for at in steps),
                )
                if place not in seen:
                    seen.add(place)
                    found[name] += 1
                    print(f"-- {name}, seed {one}: {case.name[:2000]}")
                    traceback.print_exception(error)
            counts[name, "cases"] += 1
            if time.monotonic() > ends:
                break
    return counts, found


def _turns(names: list[str], seconds: float, seed: int) -> Iterator[tuple[str, float, int]]:
    """An area, when its turn ends, and the seed of the turn, until the time is over."""
    over = time.monotonic() + seconds
    while time.monotonic() < over:
        for name in names:
            yield name, min(over, time.monotonic() + TURN), seed
        seed += 1


if __name__ == "__main__":
    sys.exit(main())
