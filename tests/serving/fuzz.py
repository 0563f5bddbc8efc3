"""Requests that nobody in good faith would send: from the OpenAPI document, and hostile bodies.

Owns: making them, and what must hold of every answer: no 5xx, JSON where JSON is promised, no traceback, no
key. Ignores which server.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from contextlib import suppress

import httpx
from hypothesis import HealthCheck, Phase, given, settings

PATHS = {
    "/v1/search": {"query": "mug", "k": 3},
    "/v1/search/batch": {"queries": [{"query": "mug"}, {"query": "lamp"}]},
    "/v1/explain": {"query": "mug", "item_id": "P0000001"},
    "/v1/judgments": {"judgments": [{"query": "mug", "item_id": "P1", "label": "E"}]},
    "/v1/catalog/diff": {"queries": ["mug"]},
    "/v1/catalog/rollback": {"version": "v000001"},
    "/v1/catalog": {"id": "F1", "title": "Fuzzed"},
}
GETS = (
    "/v1/search",
    "/v1/tree",
    "/v1/items/",
    "/v1/queries",
    "/v1/judgments",
    "/v1/catalog/versions",
)
ODD = (
    None,
    True,
    -1,
    0,
    10**30,
    -(10**400),
    1e308,
    "",
    " ",
    "\x00",
    "a" * 20_000,
    "\u202e",
    "\ud83d",
    "é" * 300,
    "' OR 1=1 --",
    "../../etc/passwd",
    "{{7*7}}",
    "<script>alert(1)</script>",
    "color = (((((",
    "NOT " * 200 + "color = black",
    "color IN (" + ",".join("x" * 3 for _ in range(2_000)) + ")",
    [],
    {},
    [[[[[[]]]]]],
    {"a": {"b": {"c": 1}}},
    "v000001",
    "hybrid",
    "0110",
)
RAW = (
    b"",
    b"{",
    b"[]",
    b"null",
    b"\xff\xfe\x00",
    b"\x00" * 1_000,
    b"[" * 50_000,
    b'{"query": ' * 2_000,
    b'{"query": NaN}',
    b'{"query": "mug", "k": 1e999}',
    b'{"query": "\\ud800"}',
    b'{"query": "mug", "query": "lamp"}',
    b'{"k": 5' + b" " * 100_000 + b"}",
    b"query=mug",
    b'{"id": "F1"}\n' * 100,
    b'{"id": "P0000001", "delete": "yes"}\nnonsense\n\n[1]\n',
)
KINDS = (
    "application/json",
    "text/plain",
    "application/x-www-form-urlencoded",
    "x",
    "",
    "multipart/form-data",
)


class Hostile:
    """A stream of hostile requests, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)

    def request(self) -> dict[str, object]:
        """Arguments of one request."""
        draw = self._draw
        kind = draw.random()
        if kind < 0.15:
            return {
                "method": draw.choice(("POST", "PUT", "GET", "DELETE", "PATCH", "OPTIONS")),
                "url": draw.choice((*PATHS, *GETS, "/", "/v1", "/docs", "/metrics", "/v1/../x")),
                "content": draw.choice(RAW),
                "headers": {"Content-Type": draw.choice(KINDS)},
            }
        if kind < 0.35:
            path = draw.choice(GETS)
            if path.endswith("/"):
                path += "".join(draw.choices("aP0%/.é \\?#&\x7f", k=8)).replace("%", "%25")
            names = (
                "query",
                "k",
                "rule",
                "filter",
                "prefix",
                "split",
                "limit",
                "system",
                "sort",
                "x",
            )
            chosen = {
                draw.choice(names): str(draw.choice(ODD))[:2_000]
                .encode("utf-8", "replace")
                .decode()
                for _ in range(draw.randint(0, 4))
            }
            return {"method": "GET", "url": path, "params": chosen}
        path = draw.choice(list(PATHS)[:-1] if draw.random() < 0.9 else list(PATHS))
        body = json.loads(json.dumps(PATHS[path]))
        for _ in range(draw.randint(1, 3)):
            self._spoil(body)
        text = json.dumps(body)
        if draw.random() < 0.1:
            at = draw.randrange(len(text))
            text = text[:at] + chr(draw.randrange(1, 0x2FF)) + text[at + draw.randint(0, 3) :]
        headers = {"Content-Type": "application/json"}
        return {
            "method": "POST",
            "url": path,
            "content": text.encode("utf-8", "replace"),
            "headers": headers,
        }

    def _spoil(self, body: dict[str, object]) -> None:
        draw = self._draw
        names = (*body, "rule", "filter", "category", "categories", "allow", "exact", "facets", "fields",
                 "version", "system", "k", "locale", "timeout_ms", "explain", "surprise")  # fmt: skip
        body[draw.choice(names)] = draw.choice(ODD)


def problem(found: httpx.Response, secrets: tuple[str, ...] = ()) -> str | None:
    """What is wrong with an answer, if anything is."""
    if found.status_code >= 500:
        return f"{found.status_code}: {found.text[:300]}"
    text = found.text
    if "Traceback" in text or any(secret in text for secret in secrets):
        return f"it tells too much: {text[:300]}"
    if found.headers.get("content-type", "").startswith("application/json"):
        try:
            told = found.json()
        except ValueError:
            return f"no JSON: {text[:300]}"
        if found.status_code >= 400 and "error" not in told:
            return f"no reason: {text[:300]}"
    return None


def attack(
    client: httpx.Client, count: int, seed: int = 0, secrets: tuple[str, ...] = ()
) -> Counter[int]:
    """Send hostile requests; the statuses they were answered with. The first bad answer is raised."""
    hostile = Hostile(seed)
    statuses: Counter[int] = Counter()
    for _ in range(count):
        asked = hostile.request()
        found = None
        with suppress(httpx.InvalidURL, httpx.LocalProtocolError, UnicodeEncodeError):
            found = client.request(**asked)
        if found is None:  # the client itself would not send it
            statuses[0] += 1
            continue
        statuses[found.status_code] += 1
        wrong = problem(found, secrets)
        assert wrong is None, f"{asked}\n{wrong}"
    return statuses


def by_the_book(client: httpx.Client, document: dict[str, object], count: int) -> Counter[int]:
    """Send what schemathesis makes of the document; answers must be as it says."""
    import schemathesis

    @schemathesis.serializer("application/x-ndjson")
    def lines(context: object, value: object) -> bytes:
        return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")

    schema = schemathesis.openapi.from_dict(document)
    statuses: Counter[int] = Counter()
    operations = [one.ok() for one in schema.get_all_operations()]
    for operation in operations:

        @settings(
            max_examples=max(1, count // len(operations)),
            deadline=None,
            phases=[Phase.generate],
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy())
        def ask(case: object) -> None:
            found = case.call(base_url=str(client.base_url), headers=dict(client.headers))
            statuses[found.status_code] += 1
            assert found.status_code < 500, (case.as_curl_command(), found.text)
            case.validate_response(found, excluded_checks=_EXCLUDED)

        ask()
    return statuses


def _excluded() -> list[object]:
    """What does not hold of a server that refuses by more than the shape of a request."""
    from schemathesis import checks

    names = ("positive_data_acceptance", "unsupported_method", "ignored_auth", "missing_required_header",
             "negative_data_rejection")  # fmt: skip
    return [getattr(checks, name) for name in names if hasattr(checks, name)]


_EXCLUDED = _excluded()
