"""Keys: who may search, and who may change the catalogue.

Owns: the file of keys (names, roles, and SHA-256 digests: a key itself is shown once and never kept), and
comparing in constant time. Ignores HTTP.

A key is 32 random bytes, so its plain digest tells nothing about it. Every stored digest is compared, whole,
whichever matches: the time says nothing about which one, or how much of one.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, get_args

from rars import disk
from rars.errors import RarsError

Role = Literal["search", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)
MARK = "rars_"
"""What a key begins with: it can be told from everything else, and kept out of a log."""


@dataclass(frozen=True)
class Key:
    """A key as it is stored."""

    name: str
    role: Role
    digest: str


@dataclass(frozen=True)
class Keys:
    """The keys of a server; none at all means that searching needs none, and changing is refused."""

    known: tuple[Key, ...] = ()

    @classmethod
    def read(cls, path: Path) -> Keys:
        """Read a file of keys; one that holds something else is refused."""
        if not path.exists():
            raise RarsError(f"{path} does not exist; make it with: rars keys add {path} NAME")
        found = disk.read_json(path)
        try:
            keys = tuple(Key(**one) for one in found["keys"])
            if any(one.role not in ROLES or len(one.digest) != 64 for one in keys):
                raise ValueError
        except (KeyError, TypeError, ValueError) as error:
            raise RarsError(f"{path} is no file of keys.") from error
        return cls(keys)

    def save(self, path: Path) -> None:
        """Write the file, for its owner alone."""
        disk.write_json(path, {"keys": [asdict(one) for one in self.known]})
        os.chmod(path, 0o600)  # noqa: PTH101

    def added(self, name: str, role: Role) -> tuple[Keys, str]:
        """The same with a new key, and the key."""
        if not name.strip() or any(one.name == name for one in self.known):
            raise RarsError(
                f"There is a key named {name!r} already." if name.strip() else "A key needs a name."
            )
        key = MARK + secrets.token_urlsafe(32)
        return Keys((*self.known, Key(name, role, digest(key)))), key

    def without(self, name: str) -> Keys:
        """The same without a key."""
        if all(one.name != name for one in self.known):
            raise RarsError(f"There is no key named {name!r}.")
        return Keys(tuple(one for one in self.known if one.name != name))

    def who(self, given: str) -> Key | None:
        """The key that was given, if it is one."""
        wanted = digest(given)
        found = None
        for one in self.known:
            if hmac.compare_digest(one.digest, wanted):
                found = one
        return found


def digest(key: str) -> str:
    """What is stored of a key."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()
