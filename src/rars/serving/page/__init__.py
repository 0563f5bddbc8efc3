"""The page: what a browser shows of the same engine.

Owns: the routes of the views and of what they load. Every view is rendered here and has an address of its
own; scripts only add to it (typing, keys, grades, lists of queries). Nothing comes from outside, and no
script or style stands in the HTML, so the strictest policy holds.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import resources

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from rars.serving.engine import Engine
from rars.serving.page.address import VIEWS, Address, View
from rars.serving.page.views import Page
from rars.serving.refusals import Refused
from rars.serving.settings import Settings

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_KINDS = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


def router(engine: Engine, settings: Settings) -> APIRouter:
    """The routes of the page."""
    routes = APIRouter(include_in_schema=False)
    page = Page(engine)
    for view in VIEWS:
        _view(routes, page, view)

    @routes.get("/static/{name}")
    async def static(request: Request, name: str) -> Response:
        found = _files().get(name)
        if found is None:
            raise Refused(404, "not_found", "There is no such file.")
        body, kind, tag = found
        headers = {"ETag": tag, "Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(body, media_type=kind, headers=headers)

    return routes


def _view(routes: APIRouter, page: Page, view: View) -> None:
    @routes.get("/" if view == "search" else f"/{view}")
    async def shown(request: Request) -> HTMLResponse:
        here = Address.read(view, request.query_params)
        status, text, more = await page.shown(here, request)
        return HTMLResponse(text, status, headers=_HEADERS | more)


@cache
def _files() -> dict[str, tuple[bytes, str, str]]:
    """What the views load, by name: content, type, and a tag that changes with the content."""
    found = {}
    for file in (resources.files(__name__) / "static").iterdir():
        kind = _KINDS.get(f".{file.name.rpartition('.')[2]}")
        if kind is not None:
            body = file.read_bytes()
            tag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
            found[file.name] = body, f"{kind}; charset=utf-8", tag
    return found
