"""One dial between a tidy shop and a real one, and what it turns.

Owns: the shares of items, titles, queries and judgments that each kind of untidiness touches, in proportion
to the dial up to all of them. Ignores what the untidiness is: each kind is a part of its own.

======================  ====================================================================================
``families``            copies: other offers of a product that is there already
``themes``, ``numbers`` the long tail of words: themes, numbers of products
``offers``              abbreviated, shouted, cut and padded titles; slips in them
``gaps``                missing descriptions, brands, colors and attributes
``items``               words of other themes in descriptions
``facts``               the skew of categories and brands
``intents``, ``asking`` queries that name one product or ask for more; slips in queries
``pooling``             judgments of what an engine has shown
``raters``              how much is judged, how often a grade is one step off
======================  ====================================================================================
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from rars.errors import RarsError

DEFAULT = 0.5
"""The dial that reproduces what real catalogues show (docs/shop.md has the figures)."""


@dataclass(frozen=True)
class Realism:
    """Shares of what each untidiness touches; all 0 is a tidy shop.

    ``copies``     items that are another offer of an earlier item
    ``themed``     products with a theme
    ``numbered``   products whose offers print a number
    ``untidy``     titles that are shouted, abbreviated, cut or padded
    ``misspelt``   titles with a slip
    ``stuffed``    descriptions with words of other themes
    ``empty``      descriptions that are missing; brands, colors and attributes follow
    ``skew``       added to the exponents of categories and brands
    ``named``      queries from numbered products that name it
    ``specific``   queries with one condition more
    ``slips``      further queries with a slip
    ``pooled``     queries of which people judge what an engine has shown them
    ``uneven``     deviation of the logarithm of how many items are judged
    ``misjudged``  judgments that are one step off
    ``beside``     queries whose complements nobody judged
    """

    copies: float = 0.0
    themed: float = 0.0
    numbered: float = 0.0
    untidy: float = 0.0
    misspelt: float = 0.0
    stuffed: float = 0.0
    empty: float = 0.0
    skew: float = 0.0
    named: float = 0.0
    specific: float = 0.0
    slips: float = 0.0
    pooled: float = 0.0
    uneven: float = 0.0
    misjudged: float = 0.0
    beside: float = 0.0

    @classmethod
    def at(cls, dial: float) -> Realism:
        """Everything at a position of the dial.

        >>> Realism.at(0) == TIDY, Realism.at(0.5).copies == ALL.copies / 2
        (True, True)
        """
        if not 0 <= dial <= 1:
            raise RarsError(f"The realism of a shop is between 0 and 1, not {dial}.")
        return cls(**{one.name: min(1.0, dial * getattr(ALL, one.name)) for one in fields(cls)})


TIDY = Realism()

ALL = Realism(
    copies=0.7,
    themed=1.7,
    numbered=0.8,
    untidy=0.6,
    misspelt=0.08,
    stuffed=1.4,
    empty=0.08,
    skew=1.3,
    named=1.4,
    specific=1.0,
    slips=0.1,
    pooled=2.0,
    uneven=1.6,
    misjudged=0.08,
    beside=1.9,
)
