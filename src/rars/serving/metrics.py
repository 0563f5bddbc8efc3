"""What a server counts, in the format of Prometheus.

Owns: the names and meanings of the ``rars_*`` series. Ignores who reads them. Of several replicas behind one
port, whoever is asked answers: every series then says whose it is, so that none is taken for another's.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from rars.serving.engine import Engine

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
_SIZES = (1, 2, 4, 8, 16, 32, 64)


class Metrics:
    """The series of one server, or of one replica of it."""

    def __init__(self, replica: int | str | None = None) -> None:
        self._replica = replica
        self.registry = CollectorRegistry()
        r = self.registry
        self._requests = Counter(
            "rars_requests", "Requests answered.", ["route", "method", "status"], registry=r
        )
        self._seconds = Histogram(
            "rars_request_seconds", "Time of a request.", ["route"], buckets=_SECONDS, registry=r
        )
        self._stages = Histogram(
            "rars_stage_seconds",
            "Time of a search by stage: queue, search, show.",
            ["stage"],
            buckets=_SECONDS,
            registry=r,
        )
        self._degraded = Counter(
            "rars_degraded", "Searches answered with a narrower beam.", registry=r
        )
        self._shed = Counter("rars_shed", "Searches refused under load.", ["reason"], registry=r)
        self._batches = Histogram(
            "rars_batch_queries", "Queries searched together.", buckets=_SIZES, registry=r
        )
        self._batch_rows = Histogram(
            "rars_batch_rows",
            "Beam rows (queries x width) searched together.",
            buckets=tuple(100 * size for size in _SIZES),
            registry=r,
        )
        self._judgments = Counter("rars_judgments", "Judgments kept.", registry=r)
        self._waiting = Gauge("rars_queue_queries", "Queries that wait.", registry=r)
        self._rows = Gauge("rars_queue_rows", "Beam rows that wait.", registry=r)
        self._pressure = Gauge("rars_pressure", "From 0 to 1: nothing more is taken.", registry=r)
        self._version = Gauge(
            "rars_catalog_version", "The version that is searched.", ["system"], registry=r
        )
        self._items = Gauge(
            "rars_catalog_items", "Items that are searched.", ["system"], registry=r
        )
        self._by_route: dict[tuple[str, str, int], Any] = {}
        self._by_stage = {name: self._stages.labels(name) for name in ("queue", "search", "show")}

    def watch(self, engine: Engine) -> None:
        """Read what is only looked at when somebody asks."""
        self._waiting.set_function(lambda: engine.batcher.waiting)
        self._rows.set_function(lambda: engine.batcher.waiting_rows)
        self._pressure.set_function(lambda: engine.batcher.pressure)
        self._engine = engine

    def answered(self, route: str, method: str, status: int, seconds: float) -> None:
        """A request was answered."""
        key = (route, method, status)
        found = self._by_route.get(key)
        if found is None:
            found = self._requests.labels(route, method, str(status)), self._seconds.labels(route)
            self._by_route[key] = found
        found[0].inc()
        found[1].observe(seconds)

    def searched(self, found: dict[str, Any]) -> None:
        """A search was answered."""
        for name, series in self._by_stage.items():
            series.observe(found["timings"][name] / 1e3)
        if found["degraded"]:
            self._degraded.inc()

    def batched(self, queries: int, rows: int, seconds: float, *, narrow: bool) -> None:
        """A batch was searched."""
        self._batches.observe(queries)
        self._batch_rows.observe(rows)

    def shed(self, reason: str) -> None:
        """A search was refused."""
        self._shed.labels(reason).inc()

    def judged(self, count: int) -> None:
        """Judgments were kept."""
        self._judgments.inc(count)

    def text(self) -> bytes:
        """Everything, as it is scraped."""
        for name in self._engine.systems.names:
            opened = self._engine.systems.now(name)
            self._items.labels(name).set(len(opened.store))
            if opened.version is not None:
                self._version.labels(name).set(int(opened.version[1:]))
        if self._replica is None:
            return generate_latest(self.registry)
        named = CollectorRegistry()
        named.register(_Of(self.registry, str(self._replica)))
        return generate_latest(named)


class _Of(Collector):
    """The series of a registry, each with the number of its replica."""

    def __init__(self, registry: CollectorRegistry, replica: str) -> None:
        self._registry, self._replica = registry, replica

    def describe(self) -> Iterable[Metric]:
        """Not asked for names beforehand."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """All of them."""
        for metric in self._registry.collect():
            metric.samples = [
                one._replace(labels={**one.labels, "replica": self._replica})
                for one in metric.samples
            ]
            yield metric
