"""The page: what a browser shows of the same engine."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from rars.serving.engine import Engine
from rars.serving.settings import Settings


def router(engine: Engine, settings: Settings) -> APIRouter:
    """The routes of the page."""
    routes = APIRouter()

    @routes.get("/", include_in_schema=False)
    async def page() -> HTMLResponse:
        names = ", ".join(engine.systems.names)
        return HTMLResponse(f"<!doctype html><title>rars</title><p>{names}</p>")

    return routes
