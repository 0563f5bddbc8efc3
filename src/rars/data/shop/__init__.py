"""The bundled shop: a generated catalogue that behaves like a real one, in three languages.

Facts come first (``world``, ``facts``), language second (``lexicon``, ``items``, ``asking``); grades follow
from the facts alone (``grading``). One dial makes it as untidy as real shops are (``realism``). What there is
and how it is called are data: the files in ``words``. No network, no licence questions, any size.
"""

from __future__ import annotations

from rars.data.shop.lexicon import LOCALES
from rars.data.shop.make import SIZES, make_shop, parse_size

__all__ = ["LOCALES", "SIZES", "make_shop", "parse_size"]
