"""Which language a locale speaks, and whose words a query may be read with.

Owns: the names of locales. Ignores the word lists themselves (the files in ``words``). A query of unknown
language is read with the words of all; one of a known language only with its own, so that the Spanish "red"
(a network) and "tan" (so) are no colours.
"""

from __future__ import annotations

import re

LANGUAGES = ("en", "es", "ja")

_ALIASES = {"us": "en", "gb": "en", "uk": "en", "mx": "es", "jp": "ja"}
_READ = {"en": ("en",), "es": ("es",), "ja": ("ja", "en")}
"""Japanese shops write English words too."""


def language_of(locale: str) -> str | None:
    """The language of a locale's name; None for one that there are no word lists for.

    >>> language_of("en"), language_of("es-MX"), language_of("jp"), language_of("tlh")
    ('en', 'es', 'ja', None)
    """
    name = re.split("[-_]", locale.strip().casefold())[0]
    name = _ALIASES.get(name, name)
    return name if name in LANGUAGES else None


def read_in(language: str | None) -> tuple[str, ...]:
    """The languages whose words count in a query."""
    return LANGUAGES if language is None else _READ[language]
