"""The same searches as tools of the Model Context Protocol, over standard input and output.

    python -m rars.serving.mcp http://127.0.0.1:8080

Owns: which tools there are. Each is one call of the HTTP API of a running server, so that limits, keys
(``RARS_KEY``) and logs are those of the server. Needs the extra ``mcp``.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError


def tools(url: str, key: str | None = None) -> MCPServer:
    """The tools over one server."""
    made = MCPServer("rars")

    def ask(path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        headers = {"Content-Type": "application/json"} | ({"X-API-Key": key} if key else {})
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url.rstrip("/") + path, data, headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as found:
                told: dict[str, Any] = json.load(found)
        except urllib.error.HTTPError as error:
            raise ToolError(json.load(error)["error"]["message"]) from error
        return told

    @made.tool()
    def search(
        query: str, k: int = 10, filter: str | None = None, system: str | None = None
    ) -> dict[str, Any]:
        """Search the catalogue. A filter: brand = "Acme" AND price < 20 AND color IN (black, navy)."""
        return ask("/v1/search", {"query": query, "k": k, "filter": filter, "system": system})

    @made.tool()
    def explain(query: str, item_id: str, k: int = 10) -> dict[str, Any]:
        """Say why an item is among the first k of a query, or why not."""
        return ask("/v1/explain", {"query": query, "item_id": item_id, "k": k})

    @made.tool()
    def item(item_id: str) -> dict[str, Any]:
        """Show everything that the catalogue has of an item."""
        return ask(f"/v1/items/{urllib.parse.quote(item_id, safe='')}")

    @made.tool()
    def systems() -> dict[str, Any]:
        """List the systems that can be asked, and the columns that a filter may name."""
        return ask("/v1/systems")

    return made


if __name__ == "__main__":
    tools(sys.argv[1], os.environ.get("RARS_KEY")).run()
