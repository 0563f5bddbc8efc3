"""A catalogue that changes while it is searched.

Owns: changes over the wire: applying rows, going back, pruning, comparing, and then searching what is
current. Ignores how a version is made (``rars.pipeline.catalogue``). Called in one thread, one after the
other.
"""

from __future__ import annotations

from typing import Any

from rars import locks
from rars.errors import RarsError
from rars.pipeline import catalogue
from rars.search.changes import read_lines
from rars.search.retriever import Retriever
from rars.serving.refusals import Refused, bad_request
from rars.serving.schemas import DiffRequest, RollbackRequest
from rars.serving.systems import Opened, Systems


def apply(
    systems: Systems, name: str | None, body: bytes, *, whole: bool, keep: int
) -> dict[str, Any]:
    """Apply rows of JSON lines as one version, search it, and prune old ones."""
    opened = _changeable(systems, name)
    rows = read_lines(body.split(b"\n"))
    if not rows:
        raise bad_request("There are no rows; send one JSON object a line.")
    done = catalogue.apply(opened.run, rows, whole=whole)
    pruned: tuple[str, ...] = ()
    if done.version is not None:
        systems.refresh(opened.name)
        systems.forget(opened.name)
        pruned = catalogue.prune(opened.run, keep=keep).removed
    return {**done.as_dict(), "system": opened.name, "pruned": list(pruned)}


def versions(systems: Systems, name: str | None, keep: int) -> dict[str, Any]:
    """The versions that are kept, and what happened so far."""
    opened = _versioned(systems, name)
    log = catalogue.log(opened.run)
    made = {event["version"]: event for event in log["log"] if event["action"] != "prune"}
    made |= {
        event["version"]: event
        for event in log["log"]
        if event["action"] not in ("prune", "rollback")
    }
    listed = []
    for version in catalogue.kept(opened.run):
        event = made[version]
        listed.append(
            {
                "version": version,
                "items": event["items"],
                "at": event["at"],
                "action": event["action"],
                "parent": event.get("parent"),
                "current": version == log["current"],
            }
        )
    return {
        "system": opened.name,
        "current": log["current"],
        "versions": listed,
        "log": log["log"],
        "keep": keep,
    }


def rollback(systems: Systems, asked: RollbackRequest) -> dict[str, Any]:
    """Search an earlier version again."""
    opened = _changeable(systems, asked.system)
    done = catalogue.rollback(opened.run, asked.version)
    systems.refresh(opened.name)
    return {"system": opened.name, "version": done.version, "items": done.items}


def diff(systems: Systems, asked: DiffRequest) -> dict[str, Any]:
    """What lies between two versions."""
    opened = _versioned(systems, asked.system)
    assert isinstance(opened.system, Retriever)
    found = catalogue.difference(
        opened.run,
        asked.old,
        asked.new,
        queries=asked.queries,
        k=asked.k,
        rule=asked.rule,
        limit=asked.limit,
        retriever=opened.system,
    )
    return {**found.as_dict(), "system": opened.name}


def _versioned(systems: Systems, name: str | None) -> Opened:
    opened = systems.now(name)
    if not isinstance(opened.system, Retriever):
        raise bad_request(f"The catalogue of the system {opened.name!r} does not change.", "system")
    return opened


def _changeable(systems: Systems, name: str | None) -> Opened:
    """A system whose catalogue nobody else changes now."""
    opened = _versioned(systems, name)
    if not locks.is_free(opened.run.folder):
        try:
            with locks.held(opened.run.folder):
                pass
        except RarsError as error:
            said = systems.unplaced(str(error))
            raise Refused(409, "busy", said, retry_after=1) from error
    return opened
