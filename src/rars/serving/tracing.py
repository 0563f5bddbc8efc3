"""OpenTelemetry spans of requests and of their stages; needs the extra ``tracing``.

Owns: where spans go and what stands in them: route, status, and the milliseconds of queue, search and show.
Ignores the engine: without an endpoint nothing is imported, and a request costs one comparison.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rars.errors import RarsError

Finish = Callable[[str, str, int, dict[str, Any] | None], None]
"""Ends a span: route, method, status, and the timings of a search if it was one."""


class Tracing:
    """Spans on their way to a collector."""

    def __init__(self, endpoint: str, exporter: Any = None) -> None:
        try:
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor

            if exporter is None:
                from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

                exporter = OTLPSpanExporter(endpoint)
        except ImportError as error:
            raise RarsError("--otlp needs the extra tracing: pip install rars[tracing]") from error
        self._provider = TracerProvider(resource=Resource.create({"service.name": "rars"}))
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("rars.serving")

    def begin(self, parent: str | None) -> Finish:
        """A span of one request; ``parent`` is the header ``traceparent``, if it came."""
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        carried = {} if parent is None else {"traceparent": parent}
        context = TraceContextTextMapPropagator().extract(carried)
        span = self._tracer.start_span("request", context=context)

        def finish(route: str, method: str, status: int, timings: dict[str, Any] | None) -> None:
            span.update_name(f"{method} {route}")
            span.set_attribute("http.route", route)
            span.set_attribute("http.request.method", method)
            span.set_attribute("http.response.status_code", status)
            for stage, value in (timings or {}).items():
                span.set_attribute(f"rars.{stage}" + ("" if stage == "batch" else "_ms"), value)
            span.end()

        return finish

    def close(self) -> None:
        """Send what is left."""
        self._provider.shutdown()
