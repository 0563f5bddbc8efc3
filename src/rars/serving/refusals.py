"""What a request is answered that cannot have what it asks for.

Owns: the statuses and codes of the API, and turning a user's mistake (``RarsError``) into one of them.
Ignores HTTP libraries.
"""

from __future__ import annotations

from typing import Any

from rars.errors import FilterError, RarsError


class Refused(Exception):
    """A request that is not answered: a status, a code for programs, a sentence for people."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        position: int | None = None,
        field: str | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message
        self.position, self.field, self.retry_after = position, field, retry_after

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "code": self.code,
            "message": self.message,
            "position": self.position,
            "field": self.field,
        }


def bad_request(message: str, field: str | None = None) -> Refused:
    """Something in the request cannot be used."""
    return Refused(400, "bad_request", message, field=field)


def not_found(message: str, field: str | None = None) -> Refused:
    """There is no such thing."""
    return Refused(404, "not_found", message, field=field)


def overloaded(message: str, seconds: float) -> Refused:
    """Come again later."""
    return Refused(429, "overloaded", message, retry_after=max(1, round(seconds + 0.5)))


def of_error(error: RarsError) -> Refused:
    """A user's mistake, found by a system."""
    if isinstance(error, FilterError):
        return Refused(400, "bad_filter", str(error), position=error.position, field="filter")
    return bad_request(str(error))
