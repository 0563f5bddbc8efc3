"""Spans and tools: the same server, seen from elsewhere."""

from __future__ import annotations

import pytest

from rars.serving.mcp import tools
from rars.serving.tracing import Tracing
from tests.serving.running import awaited


def test_a_request_is_a_span_with_its_stages():
    memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
    exporter = memory.InMemorySpanExporter()
    tracing = Tracing("http://nowhere", exporter)
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    finish = tracing.begin(parent)
    finish("/v1/search", "POST", 200, {"queue": 1.5, "search": 4.0, "batch": 3})
    tracing._provider.force_flush()
    [span] = exporter.get_finished_spans()
    tracing.close()
    assert span.name == "POST /v1/search"
    assert span.attributes["rars.search_ms"] == 4.0
    assert span.attributes["rars.batch"] == 3
    assert span.parent.span_id == 0xB7AD6B7169203331


def test_the_tools_answer_as_the_server_does(server, client):
    made = tools(server.url)

    async def ask(name, **given):
        return await made.call_tool(name, given)

    assert {one.name for one in awaited(made.list_tools())} == {
        "search",
        "explain",
        "item",
        "systems",
    }
    found = str(awaited(ask("search", query="black mug", k=2)))
    for hit in client.get("/v1/search?query=black+mug&k=2").json()["hits"]:
        assert hit["item_id"] in found
    assert "P0000001" in str(awaited(ask("item", item_id="P0000001")))
    told = str(awaited(ask("explain", query="black mug", item_id="P0000001")))
    assert "sentence" in told
    with pytest.raises(Exception, match="character 8"):
        awaited(ask("search", query="mug", filter="color ="))
