"""Queries as people type them.

Owns: turning an intent into a short text in one language: which name and which words, in which order,
with which slips. Two intents may read alike; ``make`` keeps only the first. Ignores grades.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from rars.data.shop import slips
from rars.data.shop.draws import Draw
from rars.data.shop.intents import Condition, Intent
from rars.data.shop.leaftext import PURPOSES
from rars.data.shop.lexicon import Lexicon
from rars.data.shop.numbers import number_of, typed
from rars.data.shop.themes import themes
from rars.data.shop.world import Leaf, world

OWN_NAME_SHARE = 0.55
"""How often people use the name that titles mostly use."""
OWN_WORD_SHARE = 0.6
"""The same for values and features."""
SLIP_SHARE = 0.12


@dataclass
class Said:
    """The words of a query by their role, in no order yet."""

    noun: str
    brand: list[str] = field(default_factory=list)
    adjectives: list[str] = field(default_factory=list)
    purposes: list[str] = field(default_factory=list)
    features: list[str] = field(default_factory=list)
    sizes: list[str] = field(default_factory=list)
    number: str = ""

    def rest(self) -> list[str]:
        """Everything but the noun."""
        return [*self.brand, *self.adjectives, *self.purposes, *self.features, *self.sizes]


def ask(intent: Intent, words: Lexicon, draw: Draw, slips: float = 0.0) -> str:
    """One text for an intent; ``slips`` is the share of further queries with a slip."""
    leaf = world().leaves[intent.leaf]
    noun, agreement = _noun(words, leaf, draw)
    said = Said(noun)
    for condition in intent.conditions:
        _say(said, condition, leaf, words, agreement, draw)
    if said.number:
        _name(said, draw)
    text = " ".join(_ORDERS[words.locale](said, draw).split())
    if draw.chance(0.06):
        text = f"{draw.pick(words.fillers)} {text}"
    return _as_typed(text, words.locale, draw, SLIP_SHARE + slips)


def _name(said: Said, draw: Draw) -> None:
    """Who knows a product's number types little else."""
    if draw.chance(0.6):
        said.noun = ""
    said.brand = [*said.brand[: draw.below(2)], said.number]


def _noun(words: Lexicon, leaf: Leaf, draw: Draw) -> tuple[str, int]:
    entry = words.leaves[leaf.index]
    if draw.chance(OWN_NAME_SHARE):
        name = entry.names[0] if draw.chance(0.75) else entry.names[-1]
        return name.text, name.agreement
    text = draw.pick(entry.asked)
    return text, _guessed_agreement(text) if words.locale == "es" else 0


def _guessed_agreement(text: str) -> int:
    """Gender and number of a Spanish noun by its ending, as good as a hurried person's."""
    endings = (("as", 3), ("os", 2), ("es", 2), ("a", 1))
    noun = text.split()[0]
    return next((index for ending, index in endings if noun.endswith(ending)), 0)


def _say(
    said: Said, condition: Condition, leaf: Leaf, words: Lexicon, agreement: int, draw: Draw
) -> None:
    match condition.kind:
        case "brand":
            brand = world().brands[condition.target]
            reading = words.locale == "ja" and draw.chance(0.5)
            said.brand.append(brand.reading if reading else brand.name)
        case "line":
            said.brand.append(world().line_names[condition.target])
        case "feature":
            said.features.append(_feature(condition, words, draw))
        case "theme":
            said.purposes.append(themes().asked(condition.target, words.locale, draw))
        case "product":
            said.number = typed(number_of(condition.target), draw)
        case _:
            _say_field(said, condition, leaf, words, agreement, draw)


def _say_field(
    said: Said, condition: Condition, leaf: Leaf, words: Lexicon, agreement: int, draw: Draw
) -> None:
    spec = leaf.fields[condition.place]
    key = spec.values[condition.target]
    if spec.name in words.quantities:
        typed = draw.pick(words.quantities[spec.name].ways_to_type(key))
        said.sizes.append(_wrapped(words, condition.op, typed, draw))
    elif spec.devices:
        device = _device(key, words, draw)
        if spec.name == "model":
            said.brand.append(device)
        else:
            said.purposes.append(draw.pick(words.ask["for"]).format(device))
    else:
        word = _value(words, spec.name, key, agreement, draw)
        if condition.op == "ne":
            said.features.append(_wrapped(words, "ne", word, draw))
        elif spec.name in PURPOSES:
            said.purposes.append(draw.pick((words.ask["for"][0], "{}")).format(word))
        elif spec.name in ("size", "socket", "paper"):
            said.sizes.append(word)
        else:
            said.adjectives.append(word)


def _wrapped(words: Lexicon, op: str, text: str, draw: Draw) -> str:
    return text if op == "eq" else draw.pick(words.ask[op]).format(text)


def _value(words: Lexicon, name: str, key: str, agreement: int, draw: Draw) -> str:
    word = words.values[name][key]
    if draw.chance(OWN_WORD_SHARE):
        pattern = words.modifiers.get(name, "{}") if name not in PURPOSES else "{}"
        return pattern.format(word.forms[agreement])
    return draw.pick(word.asked)


def _feature(condition: Condition, words: Lexicon, draw: Draw) -> str:
    word = words.features[condition.name]
    has = condition.op == "has"
    special = word.asked_with if has else word.asked_without
    if special and not draw.chance(OWN_WORD_SHARE):
        return draw.pick(special)
    kind = "content" if word.inside else "part"
    return draw.pick(words.ask[kind if has else f"no_{kind}"]).format(word.noun)


def _device(name: str, words: Lexicon, draw: Draw) -> str:
    brand, model = name.split(" ", 1)
    if len(model) > 2 and draw.chance(0.25):
        return model
    if words.locale == "ja" and draw.chance(0.4):
        readings = {entry.name: entry.reading for entry in world().brands}
        return f"{readings[brand]} {model}"
    return name


def _order_en(said: Said, draw: Draw) -> str:
    style = draw.uniform()
    if style < 0.5:
        ahead, behind = (said.sizes, []) if draw.chance(0.35) else ([], said.sizes)
        parts = [*said.brand, *ahead, *said.adjectives, said.noun]
        parts += [*said.purposes, *said.features, *behind]
    elif style < 0.85:
        parts = [said.noun, *draw.shuffled(said.rest())]
    else:
        parts = draw.shuffled([said.noun, *said.rest()])
    return " ".join(parts)


def _order_es(said: Said, draw: Draw) -> str:
    style = draw.uniform()
    if style < 0.5:
        parts = [said.noun, *said.adjectives, *said.brand, *said.purposes]
        parts += [*said.features, *said.sizes]
    elif style < 0.85:
        parts = [said.noun, *draw.shuffled(said.rest())]
    else:
        parts = draw.shuffled([said.noun, *said.rest()])
    text = " ".join(parts)
    return text.replace(" de ", " ") if draw.chance(0.25) else text


def _order_ja(said: Said, draw: Draw) -> str:
    style = draw.uniform()
    if style < 0.2 and said.adjectives:
        name = "の".join([*said.adjectives, said.noun])
        others = [*said.brand, *said.purposes, *said.features, *said.sizes]
        return " ".join([name, *draw.shuffled(others)])
    if style < 0.45:
        ahead = [*said.brand, *said.purposes, *said.adjectives, *said.features]
        return " ".join([*ahead, said.noun, *said.sizes])
    if style < 0.55:
        return "".join([*said.features, *said.adjectives, said.noun]) + "".join(
            f" {part}" for part in (*said.brand, *said.purposes, *said.sizes)
        )
    if style < 0.85:
        return " ".join([said.noun, *draw.shuffled(said.rest())])
    return " ".join(draw.shuffled([said.noun, *said.rest()]))


_ORDERS: dict[str, Callable[[Said, Draw], str]] = {
    "en": _order_en,
    "es": _order_es,
    "ja": _order_ja,
}


def _as_typed(text: str, locale: str, draw: Draw, slip: float) -> str:
    if locale == "ja":
        if draw.chance(slip):
            text = slips.mistype_kana(text, draw)
        if draw.chance(0.1):
            text = slips.full_width_digits(text)
        return text.replace(" ", "　") if draw.chance(0.08) else text
    if draw.chance(0.9):
        text = text.lower()
    if locale == "es" and draw.chance(0.35):
        text = slips.without_accents(text)
    return slips.mistype(text, draw) if draw.chance(slip) else text
