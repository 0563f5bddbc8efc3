"""Sharded beam search on paper: p99 against the number of shards, with stragglers and a lost replica.

A small discrete simulation, in virtual time. Queries arrive at random (Poisson). A query is sent to some
shards at once; each shard has replicas, each of which answers one query after the other; the query is done
when the slowest shard it was sent to has answered. Two ways to cut a catalogue:

prefix  a shard owns first codes. The model's first step says which first codes the beam goes to, and the
        query is sent to their owners alone; each goes on with its share of the beam.
hash    a shard owns random items. Any shard may hold a hit, so every query goes to all of them, and each
        searches a whole beam over its smaller tree.

What is put in was measured: the processor time of a beam of 100 (``tiny`` model), and how many of 256 first
codes the hundred nearest items of a query lie in (demo shop, 500 queries: 10 % have 4 or fewer, half 9, 90 %
17). Assumed: one answer in a hundred takes ten times as long (a straggler), a network round trip of 0.5 ms,
utilisation as stated. Writes ``docs/images/scale-*.png``.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.measure import report

IMAGES = Path(__file__).parents[1] / "docs" / "images"

BEAM = 7.0
"""Milliseconds of a beam of 100 on one core."""
FIXED = 0.3
"""The share of it that does not shrink with the beam: reading the query, the first step, showing hits."""
STRAGGLER = (0.01, 10.0)
ROUND_TRIP = 0.5
QUERIES = 12_000
SEEDS = 5
CODES = 256
SHARDS = (1, 2, 4, 8, 16, 32, 64, 128)

Random = np.random.Generator


@dataclass(frozen=True)
class World:
    """A cluster: ``shards`` of ``replicas``, how the catalogue is cut, and how busy the replicas are.

    ``load``  the share of time that replicas work in the mean, stragglers left out
    ``lost``  the share of the time for which one replica of the first shard is gone
    """

    shards: int
    cut: str
    replicas: int = 3
    load: float = 0.5
    lost: tuple[float, float] | None = None


def first_codes(random: Random) -> npt.NDArray[np.int64]:
    """The first codes that a query's beam goes to: as many as measured, popular ones more often."""
    count = int(np.clip(round(random.lognormal(np.log(9.0), 0.52)), 1, 40))
    # Items per first code differ by a factor of four around their mean on the demo shop.
    return np.unique((CODES * random.random(count) ** 1.3).astype(np.int64))


def sent_to(world: World, random: Random) -> list[tuple[int, float]]:
    """The shards that a query goes to, and the milliseconds of work in each."""
    if world.cut == "hash":
        return [(shard, BEAM) for shard in range(world.shards)]
    codes = first_codes(random)
    # Popular codes are dealt out in turn, so that no shard has all of them.
    owners, counts = np.unique(codes % world.shards, return_counts=True)
    share = counts / counts.sum()
    return [
        (int(owner), BEAM * (FIXED + (1 - FIXED) * float(part)))
        for owner, part in zip(owners, share, strict=True)
    ]


def simulated(world: World) -> dict[str, float]:
    """The mean of several simulations."""
    runs = [simulate(world, seed) for seed in range(SEEDS)]
    return {name: float(np.mean([run[name] for run in runs])) for name in runs[0]}


def simulate(world: World, seed: int = 0) -> dict[str, float]:
    """Latencies of many queries, milliseconds; ``busiest`` from 1 on is a queue that only grows."""
    random = np.random.default_rng(seed)
    asked = [sent_to(world, random) for _ in range(QUERIES)]
    each = np.zeros(world.shards)
    for parts in asked:
        for shard, cost in parts:
            each[shard] += cost
    work = float(each.sum()) / QUERIES
    rate = world.load * world.shards * world.replicas / work
    arrivals = np.cumsum(random.exponential(1 / rate, QUERIES))
    gone = tuple(share * arrivals[-1] for share in world.lost) if world.lost else None
    free = [[(0.0, replica) for replica in range(world.replicas)] for _ in range(world.shards)]
    latency = np.empty(QUERIES)
    for query, (at, parts) in enumerate(zip(arrivals, asked, strict=True)):
        ends = [_answered(free[shard], shard, at, cost, gone, random) for shard, cost in parts]
        latency[query] = max(ends) - at + ROUND_TRIP
    p50, p99 = np.percentile(latency, [50, 99])
    return {
        "touched": sum(map(len, asked)) / QUERIES,
        "work": work,
        "busiest": world.load * float(each.max() / each.mean()),
        "p50": float(p50),
        "p99": float(p99),
    }


def _answered(
    replicas: list[tuple[float, int]],
    shard: int,
    at: float,
    cost: float,
    gone: tuple[float, ...] | None,
    random: Random,
) -> float:
    """When the replica that is free first has answered.

    The first replica of shard 0 begins nothing while it is ``gone``, and what it was at when it went is asked
    of another.
    """
    chance, times = STRAGGLER
    while True:
        free, replica = heapq.heappop(replicas)
        begins = max(at, free)
        ends = begins + cost * (times if random.random() < chance else 1.0)
        if gone is None or (shard, replica) != (0, 0) or ends <= gone[0] or begins >= gone[1]:
            heapq.heappush(replicas, (ends, replica))
            return ends
        heapq.heappush(replicas, (gone[1], replica))
        if begins < gone[0]:
            at = gone[0]


def main() -> None:
    loss = (0.4, 0.6)
    rows = []
    for cut in ("prefix", "hash"):
        for shards in SHARDS:
            whole = simulated(World(shards, cut))
            maimed = simulated(World(shards, cut, lost=loss))
            cost = {"cut": cut, "shards": shards, **whole, "p99, a replica lost": maimed["p99"]}
            rows.append(cost)
    note = (
        "ms; 3 replicas a shard, half of their time at work; 1 % of answers take ten times as long"
    )
    report("simulation: sharded beam search", rows, note)
    _draw("scale-p99", "p99, ms", rows, lambda row: row["p99"], "p99, a replica lost")
    _draw("scale-work", "processor ms a query, all shards", rows, lambda row: row["work"], None)


def _draw(
    name: str,
    label: str,
    rows: list[dict[str, Any]],
    value: Callable[[dict[str, Any]], float],
    dashed: str | None,
) -> None:
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    for cut, colour in (("prefix", "#0b6e99"), ("hash", "#c4561b")):
        mine = [row for row in rows if row["cut"] == cut]
        shards = [row["shards"] for row in mine]
        axes.plot(shards, [value(row) for row in mine], "o-", color=colour, label=f"{cut}-sharded")
        if dashed:
            told = f"{cut}-sharded, one replica of a shard lost"
            axes.plot(shards, [row[dashed] for row in mine], "--", color=colour, label=told)
    axes.set_xscale("log", base=2)
    axes.set_xticks(SHARDS, [str(one) for one in SHARDS])
    if not dashed:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.set_xlabel("shards")
    axes.set_ylabel(label)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(IMAGES / f"{name}.png", dpi=130)
    plt.close(figure)


if __name__ == "__main__":
    main()
