"""What a query wants: a leaf category and up to three conditions on its items.

Owns: drawing an intent from the facts of a real item (so at least that item satisfies it), and the rows
that describe it in the ``intents`` table. Ignores words and grades.
"""

from __future__ import annotations

from dataclasses import dataclass

from rars.data.shop.draws import Draw
from rars.data.shop.facts import NO_LINE, Facts
from rars.data.shop.lexicon import Lexicon
from rars.data.shop.numbers import number_of
from rars.data.shop.realism import TIDY, Realism
from rars.data.shop.themes import NO_THEME, themes
from rars.data.shop.world import Field, Leaf, world

COUNT_WEIGHTS = (0.2, 0.37, 0.29, 0.14)
"""How many queries have no, one, two, three conditions."""

WEIGHTS = {
    "brand": 1.2,
    "line": 0.35,
    "fits": 4.0,
    "model": 2.5,
    "audience": 1.6,
    "color": 1.3,
    "size": 0.5,
    "shoe": 0.6,
    "pack": 0.5,
    "feature": 0.45,
    "theme": 6.0,
}
"""How readily people ask for a kind of fact; 1 if not listed."""

NEGATABLE = frozenset({"color", "material"})
NEGATED_SHARE = 0.08
BOUNDED_SHARE = 0.18


@dataclass(frozen=True)
class Condition:
    """One condition. ``kind`` says what ``place`` and ``target`` count.

    ========  =====================  =========================================  ====================
    kind      place                  target                                     op
    ========  =====================  =========================================  ====================
    brand     0                      brand                                      eq
    line      0                      product line                               eq
    field     position of the field  position of the value in ``Field.values``  eq, ne, at_least, at_most
    feature   bit of the feature     0                                          has, lacks
    theme     0                      theme                                      eq
    product   0                      position of its first offer                eq
    ========  =====================  =========================================  ====================
    """

    kind: str
    name: str
    op: str
    place: int
    target: int


@dataclass(frozen=True)
class Intent:
    """A leaf (its index) and the conditions on its items."""

    leaf: int
    conditions: tuple[Condition, ...]

    @property
    def device(self) -> tuple[str, int] | None:
        """The family and position of the device that the query names, if it names one."""
        spec = world().leaves[self.leaf]
        for condition in self.conditions:
            if condition.kind == "field" and condition.place == spec.device_slot:
                return spec.fields[condition.place].devices, condition.target
        return None


def draw_intent(facts: Facts, draw: Draw, realism: Realism = TIDY) -> Intent:
    """An intent that some item, drawn from the whole catalogue, satisfies."""
    row = draw.below(len(facts))
    leaf = world().leaves[int(facts.leaf[row])]
    if realism.named > 0 and facts.numbered[row] and draw.chance(realism.named):
        return _named(facts, row, leaf)
    options = _options(facts, row, leaf, draw)
    count = draw.weighted(range(len(COUNT_WEIGHTS)), COUNT_WEIGHTS)
    if realism.specific > 0 and draw.chance(realism.specific):
        count = min(count + 1, len(COUNT_WEIGHTS) - 1)
    chosen: list[Condition] = []
    while options := [group for group in options if len(chosen) + len(group) <= count]:
        group = draw.weighted(options, [_weight(group) for group in options])
        options.remove(group)
        # A product line is asked for together with its brand; neither is then asked for again.
        if len(group) == 2 or group[0].kind == "brand":
            options = [other for other in options if other[0].kind != "brand"]
        chosen += group
    return Intent(leaf.index, tuple(chosen))


def intent_rows(intent: Intent, words: Lexicon) -> list[tuple[str, str, str]]:
    """Name, operator and localised value of the category and of each condition."""
    spec = world().leaves[intent.leaf]
    rows = [("category", "is", words.leaves[intent.leaf].category)]
    for condition in intent.conditions:
        match condition.kind:
            case "brand":
                value = world().brands[condition.target].name
            case "line":
                value = world().line_names[condition.target]
            case "theme":
                value = themes().word(condition.target, words.locale)
            case "product":
                value = number_of(condition.target)
            case "field":
                field = spec.fields[condition.place]
                value = words.value(field.name, field.values[condition.target])
            case _:
                value = words.yes_no[0 if condition.op == "has" else 1]
        rows.append((condition.name, condition.op, value))
    return rows


def _named(facts: Facts, row: int, leaf: Leaf) -> Intent:
    """One product by its number: others of its brand and line, or of its model, are substitutes."""
    product = Condition("product", "number", "eq", 0, int(facts.root[row]))
    if leaf.device_slot is not None and leaf.is_device:
        slot = leaf.device_slot
        name = leaf.fields[slot].name
        model = Condition("field", name, "eq", slot, int(facts.values[row, slot]))
        return Intent(leaf.index, (model, product))
    brand = Condition("brand", "brand", "eq", 0, int(facts.brand[row]))
    line = Condition("line", "model", "eq", 0, int(facts.line[row]))
    return Intent(leaf.index, (brand, line, product))


def _weight(group: list[Condition]) -> float:
    if len(group) == 2:
        return WEIGHTS["line"]
    return WEIGHTS.get("feature" if group[0].kind == "feature" else group[0].name, 1.0)


def _options(facts: Facts, row: int, leaf: Leaf, draw: Draw) -> list[list[Condition]]:
    brand = Condition("brand", "brand", "eq", 0, int(facts.brand[row]))
    options = [] if leaf.is_device else [[brand]]
    if facts.line[row] != NO_LINE:
        options.append([brand, Condition("line", "model", "eq", 0, int(facts.line[row]))])
    for slot, field in enumerate(leaf.fields):
        value = int(facts.values[row, slot])
        if not (field.name == "pack" and field.values[value] == "1"):
            options.append([_on_field(field, slot, value, draw)])
    for bit, name in enumerate(leaf.features):
        op = "has" if int(facts.features[row]) >> bit & 1 else "lacks"
        options.append([Condition("feature", name, op, bit, 0)])
    if facts.theme[row] != NO_THEME:
        options.append([Condition("theme", "theme", "eq", 0, int(facts.theme[row]))])
    return options


def _on_field(field: Field, slot: int, value: int, draw: Draw) -> Condition:
    op, target = "eq", value
    if field.name in NEGATABLE and draw.chance(NEGATED_SHARE):
        op = "ne"
        target = (value + 1 + draw.below(len(field.values) - 1)) % len(field.values)
    elif field.is_bounded and draw.chance(BOUNDED_SHARE):
        op = draw.weighted(("at_least", "at_most"), (0.7, 0.3))
    return Condition("field", field.name, op, slot, target)
