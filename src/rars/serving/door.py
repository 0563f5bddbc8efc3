"""What every request passes before a route sees it, and what is written down after.

Owns: request ids, who may come in (keys, hosts, origins), how large and how slow a request may be, the answer
to a defect of ours, log lines and counts. Ignores what is asked.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from secrets import token_hex

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rars.serving.engine import Caller, Engine
from rars.serving.keys import Keys, Role
from rars.serving.logs import Log, harmless
from rars.serving.refusals import Refused
from rars.serving.settings import LOOPBACK, Settings
from rars.serving.tracing import Finish, Tracing

_CHANGES = ("/v1/catalog", "/v1/catalog/rollback")
_QUEUED = ("/v1/search", "/v1/explain", "/v1/tree")
_NAME = b"x-request-id"
_LINGER_SECONDS, _LINGER_BYTES = 2.0, 1 << 20
"""How long, and for how much, a refused client that still sends is listened to. A connection that is closed
with bytes unread is reset, and the client loses the answer with it."""
TIMINGS = "rars.timings"
"""Where a route leaves the times of a search, for whoever writes them down."""


def caller_of(request: Request) -> Caller:
    """Who sent a request."""
    found: Caller = request.scope["rars.caller"]
    return found


def needed(method: str, path: str) -> Role | None:
    """The role that a request needs; None where everybody may come."""
    if not path.startswith("/v1/"):
        return None
    return "admin" if method == "POST" and path.rstrip("/") in _CHANGES else "search"


class Door:
    """An ASGI application before another."""

    def __init__(
        self,
        app: ASGIApp,
        engine: Engine,
        settings: Settings,
        log: Log,
        keys: Keys,
        tracing: Tracing | None = None,
    ) -> None:
        self._app, self._engine, self._settings = app, engine, settings
        self._log, self._keys, self._tracing = log, keys, tracing
        self._origins = {one.rstrip("/").encode() for one in settings.cors}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or say why not."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        visit = _Visit(self, scope, receive, send)
        await visit.happen()


class _Visit:
    """One request on its way through the door."""

    def __init__(self, door: Door, scope: Scope, receive: Receive, send: Send) -> None:
        self._door, self._scope = door, scope
        self._receive, self._send = receive, send
        self._settings = door._settings
        self._headers: dict[bytes, bytes] = dict(scope["headers"])
        given = self._headers.get(_NAME, b"").decode("latin-1")
        self._id = given if harmless(given) else token_hex(8)
        self._status = 0
        self._begun = time.perf_counter()
        self._key: str | None = None
        self._left = (
            self._settings.catalog_bytes
            if scope["path"].rstrip("/") == _CHANGES[0]
            else self._settings.body_bytes
        )
        self._until = self._begun + self._settings.body_seconds
        self._whole = False
        self._last: Message | None = None
        """The end of an answer that closes the connection: held back while the client still sends."""
        self._closing = False
        self._refused: Refused | None = None
        self._finish: Finish | None = None
        if door._tracing is not None:
            parent = self._headers.get(b"traceparent")
            told = None if parent is None else parent.decode("latin-1")
            self._finish = door._tracing.begin(told)

    async def happen(self) -> None:
        """From the first check to the line in the log."""
        try:
            try:
                await self._let_in()
            except Refused as refused:
                self._refused = refused
            except Exception as error:
                self._door._log.failure(error, request_id=self._id)
                self._refused = Refused(500, "failure", "This is a defect of ours.")
            if self._refused is not None and not self._status:
                await self._refuse(self._refused)
        finally:
            self._note()
        await self._linger()

    async def _let_in(self) -> None:
        self._check()
        if self._asks_first():
            answer = Response(status_code=204, headers=_MAY)
            await answer(self._scope, self._receive, self._sent)
        else:
            await self._door._app(self._scope, self._received, self._sent)

    async def _refuse(self, refused: Refused) -> None:
        from rars.serving.app import refusal

        self._refused = None
        answer = refusal(refused, self._id)
        if refused.status in (408, 413) or not await self._emptied():
            answer.headers["Connection"] = "close"  # nobody reads the rest
            self._closing = True
        await answer(self._scope, self._receive, self._sent)

    async def _linger(self) -> None:
        """Let a refused client finish, or go, before the connection closes: it reads the answer then."""
        if self._last is None:
            return
        left = _LINGER_BYTES
        with suppress(TimeoutError):
            async with asyncio.timeout(_LINGER_SECONDS):
                while not self._whole and left > 0:
                    message = await self._receive()
                    left -= len(message.get("body", b""))
                    self._whole = not message.get("more_body", False)  # also of who has gone
        await self._send(self._last)

    async def _emptied(self) -> bool:
        """Read what is left of the body: only then can the connection be used again."""
        try:
            while not self._whole and self._status == 0:
                if (await self._received())["type"] == "http.disconnect":
                    return False
        except Refused:
            self._refused = None
            return False
        return True

    # -- coming in ---------------------------------------------------------------------------------

    def _check(self) -> None:
        scope, headers = self._scope, self._headers
        client = scope["client"][0] if scope.get("client") else ""
        scope["rars.caller"] = Caller(client, self._id)
        self._check_origin(headers)
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > self._left:
            raise self._too_large()
        role = needed(scope["method"], scope["path"])
        if role is None:
            # The page is for everybody to open; it shows results to those who may search.
            try:
                self._check_key("search")
            except Refused as refused:
                scope["rars.locked"] = refused
        elif not self._asks_first():
            self._check_key(role)
            if self._key is not None:
                scope["rars.caller"] = Caller(f"key:{self._key}", self._id)
            status = self._door._engine.status
            if status != "ok":
                said = (
                    "The server is starting." if status == "starting" else "The server is stopping."
                )
                raise Refused(503, status, said, retry_after=1)
            if scope["path"].startswith(_QUEUED):
                self._door._engine.batcher.check()

    def _asks_first(self) -> bool:
        """Whether a browser asks if a page of a named origin may call."""
        return (
            self._scope["method"] == "OPTIONS"
            and b"access-control-request-method" in self._headers
            and self._headers.get(b"origin") in self._door._origins
        )

    def _check_origin(self, headers: dict[bytes, bytes]) -> None:
        """A page of another site must not act in the name of whoever looks at it."""
        host = headers.get(b"host", b"")
        if self._settings.local and host:
            name = host.rsplit(b":", 1)[0] if not host.endswith(b"]") else host
            if name.strip(b"[]").decode("latin-1").lower() not in LOOPBACK:
                raise Refused(403, "host", "This server is for its own machine alone.")
        origin = headers.get(b"origin")
        if origin is None or origin in self._door._origins:
            return
        if origin.partition(b"://")[2] != host and self._scope["method"] != "OPTIONS":
            raise Refused(403, "origin", "Pages of other sites may not call this server.")

    def _check_key(self, role: Role) -> None:
        keys = self._door._keys
        if not keys.known:
            if role == "admin":
                said = "This server has no admin key, so its catalogue cannot be changed over HTTP."
                raise Refused(403, "forbidden", said)
            return
        given = self._headers.get(b"x-api-key", b"").decode("latin-1")
        kind, _, bearer = self._headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        if kind.lower() == "bearer":
            given = bearer.strip()
        if not given:
            said = "A key is needed: Authorization: Bearer KEY, or X-API-Key: KEY."
            raise Refused(401, "unauthorized", said)
        found = keys.who(given)
        if found is None:
            raise Refused(401, "unauthorized", "This key is not known.")
        self._key = found.name
        if role == "admin" and found.role != "admin":
            raise Refused(403, "forbidden", "This key may search, but not change the catalogue.")

    # -- the body ----------------------------------------------------------------------------------

    async def _received(self) -> Message:
        """The next part of the request, as long as it is not too large or too slow."""
        if self._whole:  # what follows is only whether the client is still there
            return await self._receive()
        try:
            async with asyncio.timeout(self._until - time.perf_counter()):
                message = await self._receive()
        except TimeoutError:
            said = "The request took too long to arrive."
            self._refused = Refused(408, "too_slow", said)
            raise self._refused from None
        if message["type"] == "http.request":
            self._left -= len(message.get("body", b""))
            if self._left < 0:
                self._refused = self._too_large()
                raise self._refused
            self._whole = not message.get("more_body", False)
        return message

    def _too_large(self) -> Refused:
        large = self._scope["path"].rstrip("/") == _CHANGES[0]
        most = self._settings.catalog_bytes if large else self._settings.body_bytes
        return Refused(413, "too_large", f"A request has at most {most:,} bytes here.")

    # -- going out ---------------------------------------------------------------------------------

    async def _sent(self, message: Message) -> None:
        if self._refused is not None and not self._status:
            return  # whoever read the body has an answer of its own to what we raised
        if message["type"] == "http.response.start":
            self._status = message["status"]
            headers: list[tuple[bytes, bytes]] = message.setdefault("headers", [])
            headers.append((_NAME, self._id.encode()))
            headers.append((b"x-content-type-options", b"nosniff"))
            if (origin := self._headers.get(b"origin")) in self._door._origins:
                assert origin is not None
                headers += [(b"access-control-allow-origin", origin), (b"vary", b"Origin")]
        elif self._closing:
            self._last = {"type": "http.response.body", "body": b"", "more_body": False}
            message = {**message, "more_body": True}
        await self._send(message)

    def _note(self) -> None:
        seconds = time.perf_counter() - self._begun
        found = self._scope.get("route")
        route: str = getattr(found, "path", "unknown")
        method: str = self._scope["method"]
        method = method if method in _METHODS else "other"
        if self._finish is not None:
            self._finish(route, method, self._status, self._scope.get(TIMINGS))
        self._door._engine.metrics.answered(route, method, self._status, seconds)
        self._door._log.line(
            "request",
            request_id=self._id,
            route=route,
            method=method,
            status=self._status,
            ms=round(1e3 * seconds, 2),
            key=self._key,
        )


_MAY = {
    "Access-Control-Allow-Methods": "GET, POST",
    "Access-Control-Allow-Headers": "authorization, content-type, x-api-key, x-request-id",
    "Access-Control-Max-Age": "600",
}
_METHODS = ("GET", "POST", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE")
