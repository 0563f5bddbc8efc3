"""Hostile requests, a few here and as many as wanted with ``python -m benchmarks.serving --parts fuzz``."""

from __future__ import annotations

from rars.serving.keys import Keys
from tests.serving.fuzz import attack, by_the_book
from tests.serving.running import running


def test_nothing_that_is_sent_ends_in_a_defect_or_in_a_log_with_a_key(run, tmp_path):
    known, key = Keys().added("office", "admin")
    with running(run, state=tmp_path / "state", keys=known, deadline_ms=60_000) as server:
        server.client.headers["X-API-Key"] = key
        statuses = attack(server.client, 150, secrets=(key, str(run)))
        assert {200, 400, 404, 405, 422} <= set(statuses)
        document = server.client.get("/openapi.json").json()
        answered = by_the_book(server.client, document, 40)
        assert sum(answered.values()) > 20
        log = server.log.getvalue()
    assert key not in log
    assert "failure" not in log
    assert "Traceback" not in log
