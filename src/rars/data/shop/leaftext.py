"""Everything an item of one leaf can say, written out once.

Owns: for a leaf and one of its names, the ready words and sentences of every field value and feature, so
that describing an item is only choosing among strings. Agreement with the noun (Spanish) and number
(English) are settled here. Ignores the items.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from rars.data.shop.lexicon import Lexicon, Noun
from rars.data.shop.titles import capitals
from rars.data.shop.world import Field, Leaf, world

PURPOSES = ("fits", "skin", "hair")

Choices = tuple[str, ...]


@dataclass(frozen=True)
class LeafText:
    """The strings of a leaf under one name.

    ``title[slot][value]`` and ``sentences[slot][value]`` are for its fields, ``feature_titles[bit][has]``
    and ``feature_sentences[bit][has]`` for its features (``has`` is 0 or 1; a title that would praise what
    nobody wants is empty). ``openers`` still hold ``{brand}`` and ``{model}``. ``adjective_slots`` are in
    the order of the language.
    """

    noun: str
    title: tuple[tuple[Choices, ...], ...]
    sentences: tuple[tuple[Choices, ...], ...]
    feature_titles: tuple[tuple[str, str], ...]
    feature_sentences: tuple[tuple[Choices, Choices], ...]
    openers: Choices
    companions: Choices
    aliases: Choices
    closers: Choices
    adjective_slots: tuple[int, ...]
    purpose_slots: tuple[int, ...]
    size_slots: tuple[int, ...]
    pack_slot: int
    model_slot: int


def leaf_text(words: Lexicon, leaf: Leaf, noun: Noun) -> LeafText:
    """Write out everything that an item of this leaf, called by this noun, can say."""
    polish = capitals if words.locale == "en" else _same
    names = [field.name for field in leaf.fields]
    return LeafText(
        noun=polish(noun.text),
        title=tuple(_titles(words, field, noun, polish) for field in leaf.fields),
        sentences=tuple(_sentences(words, field, noun) for field in leaf.fields),
        feature_titles=tuple(_feature_title(words, name, polish) for name in leaf.features),
        feature_sentences=tuple(_feature_sentences(words, name, noun) for name in leaf.features),
        openers=_openers(words, leaf, noun),
        companions=_companions(words, leaf),
        closers=_suitable(words.closers, leaf),
        aliases=tuple(words.alias.format(name) for name in words.leaves[leaf.index].asked),
        adjective_slots=tuple(names.index(name) for name in words.adjectives if name in names),
        purpose_slots=tuple(i for i, name in enumerate(names) if name in PURPOSES),
        size_slots=tuple(
            i
            for i, name in enumerate(names)
            if name not in (*words.adjectives, *PURPOSES, "pack", "model")
        ),
        pack_slot=names.index("pack") if "pack" in names else -1,
        model_slot=names.index("model") if "model" in names else -1,
    )


def _same(text: str) -> str:
    return text


def _titles(
    words: Lexicon, field: Field, noun: Noun, polish: Callable[[str], str]
) -> tuple[Choices, ...]:
    if field.name in words.quantities:
        quantity = words.quantities[field.name]
        keep = polish if field.name == "pack" else _same
        return tuple(tuple(keep(text) for text in quantity.all(value)) for value in field.values)
    if field.devices:
        pattern = words.for_ if field.name == "fits" else "{}"
        return tuple((pattern.format(value),) for value in field.values)
    pattern = words.modifiers.get(field.name, words.for_ if field.name in PURPOSES else "{}")
    table = words.values[field.name]
    agreed = (table[value].forms[noun.agreement] for value in field.values)
    return tuple((polish(pattern.format(word)),) for word in agreed)


def _sentences(words: Lexicon, field: Field, noun: Noun) -> tuple[Choices, ...]:
    templates = words.sentences[field.name]
    return tuple(
        tuple(_fill(words, text, noun, words.value(field.name, value)) for text in templates)
        for value in field.values
    )


def _feature_title(words: Lexicon, name: str, polish: Callable[[str], str]) -> tuple[str, str]:
    word = words.features[name]
    has, lacks = words.content if word.inside else words.part
    shown = "" if name in world().unwanted else has.format(polish(word.noun))
    return lacks.format(polish(word.noun)), shown


def _feature_sentences(words: Lexicon, name: str, noun: Noun) -> tuple[Choices, Choices]:
    word = words.features[name]
    has, lacks = words.content_sentences if word.inside else words.part_sentences
    return (
        tuple(_fill(words, text, noun, word.noun) for text in lacks),
        tuple(_fill(words, text, noun, word.noun) for text in has),
    )


def _openers(words: Lexicon, leaf: Leaf, noun: Noun) -> Choices:
    uses = words.leaves[leaf.index].uses
    return tuple(
        _fill(words, text.replace("{use}", use).replace("{noun}", noun.text), noun, "")
        for text in _suitable(words.openers, leaf)
        for use in uses
    )


def _suitable(lines: Choices, leaf: Leaf) -> Choices:
    """All lines for durable goods; those without a star for goods that are used up."""
    kept = (line for line in lines if not (leaf.used_up and line.startswith("*")))
    return tuple(line.removeprefix("* ") for line in kept)


def _companions(words: Lexicon, leaf: Leaf) -> Choices:
    others = [words.leaves[index].names[0] for index in leaf.complements]
    return tuple(
        _fill(words, text, other, other.text) for other in others for text in words.companions
    )


def _fill(words: Lexicon, template: str, noun: Noun, value: str) -> str:
    """Put a value into a sentence and make it agree; ``{brand}`` and ``{model}`` stay open."""
    text = template.replace("{}", value).replace("{Cap}", value[:1].upper() + value[1:])
    for mark, forms in words.agreeing.items():
        text = text.replace(mark, forms[noun.agreement])
    if words.locale == "en" and not noun.plural:
        text = re.sub(r"\ba (?=[aeiouAEIOU])", "an ", text)
    return text
