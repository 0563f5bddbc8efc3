"""The API over HTTP: thin routes to the engine.

Owns: paths, statuses, and OpenAPI. Ignores how anything is answered. What stands before every route (keys,
sizes, ids, logs) is ``rars.serving.door``'s.
"""

from __future__ import annotations

import csv
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic_core import to_json
from starlette.exceptions import HTTPException

from rars import __version__
from rars.serving import schemas as s
from rars.serving.door import TIMINGS, Door, caller_of
from rars.serving.engine import Engine
from rars.serving.keys import Keys
from rars.serving.logs import Log
from rars.serving.page import router as page_router
from rars.serving.refusals import Refused
from rars.serving.tracing import Tracing

_ABOUT = "Search by generating item identifiers down a tree; filters, explanations, versions."
_WRONG: dict[int | str, dict[str, Any]] = {
    status: {"model": s.ErrorResponse, "description": said}
    for status, said in {
        400: "What was asked for cannot be used.",
        401: "A key is needed.",
        403: "This key does not allow it.",
        404: "There is no such thing.",
        408: "The request took too long to arrive.",
        413: "The request is too large.",
        422: "A field has a value that cannot be.",
        429: "Too much is waiting; come again after Retry-After seconds.",
    }.items()
}


class Json(JSONResponse):
    """Plain values as JSON; what no number is becomes null."""

    def render(self, content: Any) -> bytes:
        """One call, in compiled code."""
        return to_json(content, inf_nan_mode="null")


def create_app(engine: Engine, *, keys: Keys | None = None, log: Log | None = None) -> FastAPI:
    """The application of one engine; without ``keys``, those of the file that its settings name."""
    settings = engine.settings
    if keys is None:
        keys = Keys() if settings.keys is None else Keys.read(settings.keys)

    tracing = None if settings.otlp is None else Tracing(settings.otlp)

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        await engine.start()
        yield
        await engine.stop()
        if tracing is not None:
            tracing.close()

    app = FastAPI(
        title="rars",
        version=__version__,
        description=_ABOUT,
        lifespan=life,
        default_response_class=Json,
        responses=_WRONG,
    )
    _searching(app, engine)
    _looking(app, engine)
    _judging(app, engine)
    _changing(app, engine)
    _watching(app, engine)
    if settings.page:
        app.include_router(page_router(engine, settings))
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _plain)
    log = log or Log(on=settings.log)
    app.add_middleware(Door, engine=engine, settings=settings, log=log, keys=keys, tracing=tracing)
    return app


# -- searching -------------------------------------------------------------------------------------


def _searching(app: FastAPI, engine: Engine) -> None:
    async def searched(request: Request, asked: s.SearchRequest) -> Json:
        found = await engine.search(asked, caller_of(request))
        request.scope[TIMINGS] = found["timings"]
        return Json(found)

    @app.get("/v1/search", response_model=s.SearchResponse, tags=["search"])
    async def search_get(request: Request, asked: Annotated[s.SearchRequest, Query()]) -> Json:
        """Search, with the question in the address."""
        return await searched(request, asked)

    @app.post("/v1/search", response_model=s.SearchResponse, tags=["search"])
    async def search(request: Request, asked: s.SearchRequest) -> Json:
        """Search."""
        return await searched(request, asked)

    @app.post("/v1/search/batch", response_model=s.BatchResponse, tags=["search"])
    async def batch(request: Request, asked: s.BatchRequest) -> Json:
        """Several searches at once; each is answered, or refused, by itself, in order."""
        caller = caller_of(request)
        results = await engine.search_batch(asked.queries, caller)
        return Json({"results": results, "request_id": caller.request_id})


def _looking(app: FastAPI, engine: Engine) -> None:
    @app.post("/v1/explain", response_model=s.ExplainResponse, tags=["look"])
    async def explain(request: Request, asked: s.ExplainRequest) -> Json:
        """Why an item was found, or why not."""
        return Json(await engine.explain(asked, caller_of(request)))

    @app.get("/v1/tree", response_model=s.TreeResponse, tags=["look"])
    async def tree(request: Request, asked: Annotated[s.TreeRequest, Query()]) -> Json:
        """The branches below a prefix as a query sees them."""
        return Json(await engine.tree(asked, caller_of(request)))

    @app.get("/v1/items/{item_id:path}", response_model=s.ItemResponse, tags=["look"])
    async def item(
        request: Request,
        item_id: Annotated[str, Path(max_length=1_000)],
        system: Annotated[s.Name | None, Query()] = None,
        version: Annotated[s.Name | None, Query()] = None,
    ) -> Json:
        """All that the catalogue has of an item."""
        return Json(await engine.item(item_id, system, version, caller_of(request)))

    @app.get("/v1/systems", response_model=s.SystemsResponse, tags=["look"])
    async def systems(request: Request) -> Json:
        """What can be asked: systems, their rules, versions and columns."""
        found = await engine.describe()
        return Json({"systems": found, "request_id": caller_of(request).request_id})

    @app.get("/v1/queries", response_model=s.QueriesResponse, tags=["look"])
    async def queries(request: Request, asked: Annotated[s.QueriesRequest, Query()]) -> Json:
        """Judged queries of the dataset, with the measures of one system or of two."""
        found = await engine.judged_queries(asked)
        return Json({**found, "request_id": caller_of(request).request_id})


# -- judgments -------------------------------------------------------------------------------------


def _judging(app: FastAPI, engine: Engine) -> None:
    @app.post(
        "/v1/judgments", response_model=s.JudgmentsAccepted, status_code=201, tags=["judgments"]
    )
    async def judge(request: Request, given: s.JudgmentsRequest) -> Json:
        """Keep judgments; when this is answered they are on disk."""
        total = await engine.judge(given.judgments)
        told = {"accepted": len(given.judgments), "total": total}
        return Json({**told, "request_id": caller_of(request).request_id}, status_code=201)

    @app.get(
        "/v1/judgments",
        response_model=s.JudgmentsResponse,
        tags=["judgments"],
        responses={200: {"content": {"text/csv": {}, "application/x-ndjson": {}}}},
    )
    async def judgments(
        request: Request,
        query: Annotated[s.Text | None, Query()] = None,
        user: Annotated[s.Name | None, Query()] = None,
        format: Annotated[Literal["json", "csv", "jsonl"], Query()] = "json",
        table: Annotated[Literal["judgments", "queries"], Query()] = "judgments",
    ) -> Response:
        """The judgments that stand; as csv or jsonl, the tables that rars data import takes."""
        if format != "json":
            return _table(engine.judgment_table(table), table, format)
        kept = engine.judgments_kept(query=query, user=user)
        request_id = caller_of(request).request_id
        return Json({"judgments": kept, "total": len(kept), "request_id": request_id})


_COLUMNS = {
    "judgments": ("query_id", "item_id", "grade", "users"),
    "queries": ("id", "text", "locale"),
}


def _table(rows: list[dict[str, Any]], table: str, kind: str) -> Response:
    if kind == "jsonl":
        return Response(b"".join(to_json(row) + b"\n" for row in rows), media_type=_NDJSON)
    out = io.StringIO()
    writer = csv.DictWriter(out, _COLUMNS[table], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return Response(out.getvalue(), media_type="text/csv")


_NDJSON = "application/x-ndjson"


# -- the catalogue ---------------------------------------------------------------------------------


def _changing(app: FastAPI, engine: Engine) -> None:
    rows = {"schema": {"type": "string"}, "example": '{"id": "P1", "title": "Red mug"}\n'}
    body = {"required": True, "content": {_NDJSON: rows}}

    @app.post(
        "/v1/catalog",
        response_model=s.CatalogResponse,
        tags=["catalogue"],
        openapi_extra={"requestBody": body},
    )
    async def change(
        request: Request,
        system: Annotated[s.Name | None, Query()] = None,
        whole: Annotated[bool, Query(description="All rows or none.")] = False,
    ) -> Json:
        """Add, replace and remove items: one JSON object a line, {"id": ..., "delete": true} to remove."""
        done = await engine.change(system, await request.body(), whole=whole)
        return Json({**done, "request_id": caller_of(request).request_id})

    @app.get("/v1/catalog/versions", response_model=s.VersionsResponse, tags=["catalogue"])
    async def versions(request: Request, system: Annotated[s.Name | None, Query()] = None) -> Json:
        """The versions that are kept, the one searched now first."""
        found = await engine.versions(system)
        return Json({**found, "request_id": caller_of(request).request_id})

    @app.post("/v1/catalog/rollback", response_model=s.RollbackResponse, tags=["catalogue"])
    async def rollback(request: Request, asked: s.RollbackRequest) -> Json:
        """Search an earlier version again; later ones are kept."""
        done = await engine.rollback(asked)
        return Json({**done, "request_id": caller_of(request).request_id})

    @app.post("/v1/catalog/diff", response_model=s.DiffResponse, tags=["catalogue"])
    async def diff(request: Request, asked: s.DiffRequest) -> Json:
        """What lies between two versions: items, places in the tree, rankings of queries."""
        found = await engine.diff(asked)
        return Json({**found, "request_id": caller_of(request).request_id})


# -- probes ----------------------------------------------------------------------------------------


def _watching(app: FastAPI, engine: Engine) -> None:
    @app.get("/livez", response_model=s.Alive, tags=["probes"])
    async def alive() -> Json:
        """Whether the process answers."""
        return Json({"status": "ok"})

    @app.get(
        "/readyz", response_model=s.Alive, tags=["probes"], responses={503: {"model": s.Alive}}
    )
    async def ready() -> Json:
        """Whether it can search: 503 while it starts or stops."""
        return Json({"status": engine.status}, status_code=200 if engine.status == "ok" else 503)

    @app.get("/metrics", tags=["probes"], responses={200: {"content": {"text/plain": {}}}})
    async def metrics() -> Response:
        """Everything that is counted, for Prometheus."""
        return Response(engine.metrics.text(), media_type=CONTENT_TYPE_LATEST)


# -- what went wrong -------------------------------------------------------------------------------


def refusal(refused: Refused, request_id: str) -> Json:
    """A refusal as it is sent."""
    headers = {}
    if refused.retry_after is not None:
        headers["Retry-After"] = str(refused.retry_after)
    if refused.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    told = {"error": refused.as_dict(), "request_id": request_id}
    return Json(told, status_code=refused.status, headers=headers)


async def _refused(request: Request, error: Exception) -> Json:
    assert isinstance(error, Refused)
    return refusal(error, caller_of(request).request_id)


async def _invalid(request: Request, error: Exception) -> Json:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"][1:])
    said = f"{where or 'The request'}: {first['msg'][:300]}."
    refused = Refused(422, "invalid", said, field=where[:300] or None)
    return refusal(refused, caller_of(request).request_id)


async def _plain(request: Request, error: Exception) -> Json:
    assert isinstance(error, HTTPException)
    code = {404: "not_found", 405: "not_allowed"}.get(error.status_code, "refused")
    refused = Refused(error.status_code, code, f"{error.detail}.")
    told = refusal(refused, caller_of(request).request_id)
    for name, value in (error.headers or {}).items():
        told.headers[name] = value
    return told
