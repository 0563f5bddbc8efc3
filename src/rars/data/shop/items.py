"""Items as rows of the catalogue: titles, descriptions, categories, attributes.

Owns: which facts an item's title and description mention. Every fact is in ``attributes``, but a title
tells only some of them and a description some others, as in a real shop. Everything depends on the
item's position, so chunks can be written in any size. Ignores queries.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rars.arrays import Bools, Doubles, Longs
from rars.data.schema import ITEMS
from rars.data.shop.columns import attributes, category_paths, colors
from rars.data.shop.draws import key, uniform_table
from rars.data.shop.facts import NO_LINE, Facts, Rows
from rars.data.shop.families import own_words
from rars.data.shop.gaps import FIELDS, with_gaps
from rars.data.shop.leaftext import LeafText, leaf_text
from rars.data.shop.lexicon import lexicon
from rars.data.shop.numbers import number_of
from rars.data.shop.offers import offered
from rars.data.shop.realism import TIDY, Realism
from rars.data.shop.themes import MOTIF, NO_THEME, themes
from rars.data.shop.titles import PATTERN_WEIGHTS, WRITERS, TitleParts
from rars.data.shop.world import MAX_FEATURES, MAX_FIELDS, world

TITLE_SHARE = {"fits": 0.97, "model": 0.97, "pack": 0.8, "size": 0.5, "shoe": 0.5, "audience": 0.6}
"""How often a title mentions a field, where it is not the usual share."""
USUAL_TITLE_SHARE = 0.55
FIRST_NAME_SHARE = 0.8
BRAND_SHARE, MODEL_SHARE, READING_SHARE = 0.88, 0.6, 0.45
HAS_TITLE_SHARE, LACKS_TITLE_SHARE = 0.3, 0.07
TEXT_SHARE = 0.7
TOLD_AGAIN_SHARE = 0.25
"""How often a description mentions a field that the title leaves out, or has already mentioned."""
HAS_SHARE, LACKS_SHARE = 0.55, 0.35
OPENER_SHARE, COMPANION_SHARE, CLOSER_SHARE = 0.6, 0.15, 0.3
ALIAS_SHARE = 0.05
"""How often a description gives away what else people call the thing."""
MOST_SENTENCES = 4
NUMBER_TITLE_SHARE, THEME_TITLE_SHARE = 0.85, 0.75
"""How often a title tells the number of its product, and its theme; else its description tells the theme."""

_PATTERNS = np.cumsum(PATTERN_WEIGHTS)

# The random numbers of an item, by what they decide. Four of them have one number per field, or feature.
_NAME, _PATTERN, _BRAND, _MODEL, _LENGTH, _OPENER, _ASIDE, _CLOSER = range(8)
_TITLED = 8
_WRITTEN = _TITLED + MAX_FIELDS
_FORM = _WRITTEN + MAX_FIELDS
_FEATURE = _FORM + MAX_FIELDS
_NUMBER = _FEATURE + MAX_FEATURES
_THEME = _NUMBER + 1
_STUFFED = _THEME + 1
_COLUMNS = _STUFFED + 1


def item_ids(start: int, stop: int) -> pa.Array:
    """Ids of items by position.

    >>> item_ids(7, 9).to_pylist()
    ['P0000007', 'P0000008']
    """
    return pa.array([f"P{i:07d}" for i in range(start, stop)], pa.string())


def item_rows(
    facts: Facts, locale: str, seed: int, start: int, realism: Realism = TIDY
) -> pa.Table:
    """The catalogue rows of a chunk of items whose first position is ``start``."""
    scribe = _Scribe(locale)
    draws = _draws(seed, np.arange(start, start + len(facts)), facts.root)
    patterns = np.searchsorted(_PATTERNS[:-1], draws[:, _PATTERN], side="right").tolist()
    titles, texts = [], []
    for leaf, brand, line, values, features, root, theme, numbered, pattern, draw in zip(
        facts.leaf.tolist(),
        facts.brand.tolist(),
        facts.line.tolist(),
        facts.values.tolist(),
        facts.features.tolist(),
        facts.root.tolist(),
        facts.theme.tolist(),
        facts.numbered.tolist(),
        patterns,
        draws.tolist(),
        strict=True,
    ):
        tail = scribe.tail(theme, number_of(root) if numbered else "", draw)
        title, text = scribe.describe(leaf, brand, line, values, features, pattern, tail, draw)
        if draw[_STUFFED] < realism.stuffed:
            text += scribe.gap + themes().aside(draw[_STUFFED] / realism.stuffed, locale)
        titles.append(title)
        texts.append(text)
    columns = {
        "id": item_ids(start, start + len(facts)),
        "title": pa.array(offered(titles, locale, seed, start, realism), pa.string()),
        "text": pa.array(texts, pa.string()),
        "brand": pa.array([brand.name for brand in world().brands]).take(pa.array(facts.brand)),
        "color": colors(facts, scribe.words),
        "category": category_paths(facts, scribe.words),
        "attributes": attributes(facts, scribe.words, seed, start, realism),
    }
    for name in FIELDS:
        columns[name] = with_gaps(columns[name], name, seed, start, realism.empty)
    return pa.table(columns, schema=ITEMS)


@dataclass(frozen=True, slots=True)
class Tail:
    """The long tail of one item: what its title and description say of its theme and number."""

    number: str = ""
    motif: tuple[str, ...] = ()
    circle: tuple[str, ...] = ()
    sentence: tuple[str, ...] = ()


NO_TAIL = Tail()


@dataclass(frozen=True, eq=False)
class Told:
    """Which facts titles mention: ``fields`` and ``features`` are (items, of the leaf), others (items,)."""

    second_name: Bools
    brand: Bools
    line: Bools
    fields: Bools
    features: Bools
    theme: Bools
    number: Bools

    def count(self) -> Longs:
        """How many facts each title mentions."""
        found: Longs = np.sum(self.fields, axis=1) + np.sum(self.features, axis=1)
        return found + self.brand + self.line + self.theme + self.number


def told(facts: Facts, rows: Rows, leaf: int, seed: int) -> Told:
    """What the titles of these items of one leaf tell, without writing them."""
    spec = world().leaves[leaf]
    draws = _draws(seed, rows, facts.root[rows])
    first = draws[:, _FEATURE : _FEATURE + len(spec.features)]
    return Told(
        second_name=draws[:, _NAME] >= FIRST_NAME_SHARE,
        brand=draws[:, _BRAND] < BRAND_SHARE,
        line=draws[:, _MODEL] < MODEL_SHARE,
        fields=draws[:, _TITLED : _TITLED + len(spec.fields)] < np.array(_title_shares(leaf)),
        features=first > 1 - HAS_TITLE_SHARE,
        theme=(facts.theme[rows] != NO_THEME) & (draws[:, _THEME] < THEME_TITLE_SHARE),
        number=facts.numbered[rows] & (draws[:, _NUMBER] < NUMBER_TITLE_SHARE),
    )


class _Scribe:
    """Describes one item after the other in one language."""

    def __init__(self, locale: str) -> None:
        self.words = lexicon(locale)
        self.earth = world()
        self.write = WRITERS[locale]
        self.gap = "" if locale == "ja" else " "
        self.most_features = 2 if locale == "ja" else 1

    def describe(
        self,
        leaf: int,
        brand: int,
        line: int,
        values: list[int],
        features: int,
        pattern: int,
        tail: Tail,
        draw: list[float],
    ) -> tuple[str, str]:
        """Title and description of one item; ``draw`` holds its random numbers."""
        text = _leaf_text(self.words.locale, leaf, _name_index(draw[_NAME]))
        maker = self.earth.brands[brand]
        model = self._model(text, line, values)
        told = [draw[_TITLED + slot] < share for slot, share in enumerate(_title_shares(leaf))]
        if text.pack_slot >= 0 and _is_single(leaf, text.pack_slot, values[text.pack_slot]):
            told[text.pack_slot] = False
        parts = TitleParts(
            brand=self._brand(maker.name, maker.reading, draw[_BRAND]),
            model=model if draw[_MODEL] < MODEL_SHARE or text.model_slot >= 0 else "",
            noun=text.noun,
            adjectives=[*tail.motif, *_said(text, text.adjective_slots, values, told, draw)],
            purposes=[*_said(text, text.purpose_slots, values, told, draw), *tail.circle],
            features=_feature_title(text, features, draw)[: self.most_features],
            sizes=_said(text, text.size_slots, values, told, draw),
            pack="".join(_said(text, (text.pack_slot,), values, told, draw)),
        )
        sentences = [*tail.sentence, *self._facts_told(text, values, features, told, draw)]
        title = f"{self.write(parts, pattern)} {tail.number}".rstrip()
        return title, self._text(text, maker.name, model, sentences, draw)

    def tail(self, theme: int, number: str, draw: list[float]) -> Tail:
        """What title and description say of a product's theme and number."""
        told = number if draw[_NUMBER] < NUMBER_TITLE_SHARE else ""
        if theme == NO_THEME:
            return NO_TAIL if not told else Tail(number=told)
        known, locale = themes(), self.words.locale
        if draw[_THEME] >= THEME_TITLE_SHARE:
            return Tail(number=told, sentence=(known.in_text(theme, locale),))
        said = (known.in_title(theme, locale),)
        if known.all[theme].kind == MOTIF:
            return Tail(number=told, motif=said)
        return Tail(number=told, circle=said)

    def _model(self, text: LeafText, line: int, values: list[int]) -> str:
        if line != NO_LINE:
            return self.earth.line_names[line]
        # A device's name begins with its brand, which titles and sentences print themselves.
        return text.title[text.model_slot][values[text.model_slot]][0].split(" ", 1)[1]

    def _brand(self, name: str, reading: str, draw: float) -> str:
        if draw >= BRAND_SHARE:
            return ""
        return (
            f"{name}（{reading}）" if self.words.locale == "ja" and draw < READING_SHARE else name
        )

    def _facts_told(
        self, text: LeafText, values: list[int], features: int, told: list[bool], draw: list[float]
    ) -> list[str]:
        """Sentences on some facts, mostly on those that the title leaves out."""
        sentences = []
        for slot, choices in enumerate(text.sentences):
            share = TOLD_AGAIN_SHARE if told[slot] else TEXT_SHARE
            if draw[_WRITTEN + slot] < share and slot != text.pack_slot:
                sentences.append(_pick(choices[values[slot]], draw[_FORM + slot]))
        for bit, choices in enumerate(text.feature_sentences):
            share = HAS_SHARE if features >> bit & 1 else LACKS_SHARE
            if draw[_FEATURE + bit] < share:
                sentences.append(_pick(choices[features >> bit & 1], draw[_FEATURE + bit] / share))
        # Which fact comes first, and is therefore kept in a short description, is up to chance.
        turn = int(draw[_LENGTH] * 7) % max(1, len(sentences))
        return sentences[turn:] + sentences[:turn]

    def _text(
        self, text: LeafText, brand: str, model: str, facts: list[str], draw: list[float]
    ) -> str:
        sentences = facts[: 2 + int(draw[_LENGTH] * 3)]
        if draw[_OPENER] < OPENER_SHARE:
            opener = _pick(text.openers, draw[_OPENER] / OPENER_SHARE)
            opener = opener.replace("{brand}", brand).replace("{Brand}", brand)
            sentences.insert(0, opener.replace("{model}", model))
        if draw[_ASIDE] < COMPANION_SHARE:
            sentences.insert(1, _pick(text.companions, draw[_ASIDE] / COMPANION_SHARE))
        if draw[_ASIDE] > 1 - ALIAS_SHARE:
            sentences.insert(1, _pick(text.aliases, (1 - draw[_ASIDE]) / ALIAS_SHARE))
        if draw[_CLOSER] < CLOSER_SHARE or not sentences:
            sentences.append(_pick(text.closers, draw[_CLOSER] % CLOSER_SHARE / CLOSER_SHARE))
        return self.gap.join(sentences[:MOST_SENTENCES])


def _pick(choices: tuple[str, ...], draw: float) -> str:
    return choices[int(draw * len(choices))]


def _said(
    text: LeafText, slots: tuple[int, ...], values: list[int], told: list[bool], draw: list[float]
) -> list[str]:
    return [
        _pick(text.title[slot][values[slot]], draw[_FORM + slot])
        for slot in slots
        if slot >= 0 and told[slot]
    ]


def _feature_title(text: LeafText, features: int, draw: list[float]) -> list[str]:
    said = []
    for bit, (lacks, has) in enumerate(text.feature_titles):
        present = features >> bit & 1
        # The absence of what nobody wants is worth a title, its presence never is.
        worth = present if has else not present
        if draw[_FEATURE + bit] > 1 - (HAS_TITLE_SHARE if worth else LACKS_TITLE_SHARE):
            said.append(has if present else lacks)
    return [part for part in said if part]


def _name_index(draw: float) -> int:
    """Which name an item goes by: mostly the usual one, sometimes the second."""
    return 0 if draw < FIRST_NAME_SHARE else 1


@cache
def _leaf_text(locale: str, leaf: int, name: int) -> LeafText:
    words = lexicon(locale)
    names = words.leaves[leaf].names
    return leaf_text(words, world().leaves[leaf], names[min(name, len(names) - 1)])


@cache
def _title_shares(leaf: int) -> tuple[float, ...]:
    fields = world().leaves[leaf].fields
    return tuple(TITLE_SHARE.get(field.name, USUAL_TITLE_SHARE) for field in fields)


@cache
def _is_single(leaf: int, slot: int, value: int) -> bool:
    return world().leaves[leaf].fields[slot].values[value] == "1"


def _draws(seed: int, places: npt.NDArray[np.integer], root: Rows) -> Doubles:
    # Languages share their draws, so that an item is described alike in each of them.
    draws = uniform_table(_streams(seed), places)
    copies = np.flatnonzero(root != places)
    if len(copies):
        own = own_words(seed, places[copies].astype(np.int64), _COLUMNS)
        draws[copies] = np.where(own, draws[copies], uniform_table(_streams(seed), root[copies]))
    return draws


@cache
def _streams(seed: int) -> npt.NDArray[np.uint64]:
    return np.array([key(seed, "text", column) for column in range(_COLUMNS)], dtype=np.uint64)
