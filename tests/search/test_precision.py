"""int8 answers nearly the same, says what it is, and float32 stays exact."""

from __future__ import annotations

import pytest
import torch

from rars.errors import RarsError
from rars.search.retriever import Retriever

TEXTS = ["black bottle 0.75 l", "running shoes", "gift for my sister", "usb c cable 2 m"]


@pytest.fixture(scope="module")
def rounded(trained):
    return Retriever.load(trained, precision="int8")


def test_the_linear_layers_of_encoder_and_decoder_have_8_bit_weights(rounded, retriever):
    def linear(part):
        return [m for m in part.modules() if isinstance(m, torch.nn.Linear)]

    model = rounded.ready.model
    assert linear(retriever.ready.model.encoder.stack)
    assert not linear(model.encoder.stack)
    assert not linear(model.decoder)
    assert len(linear(model.code_outputs)) == len(model.slots)


@pytest.mark.parametrize("rule", ["ar", "hybrid"])
def test_int8_answers_overlap_with_float32(rounded, retriever, rule):
    plain = retriever.search_many(TEXTS, 20, rule=rule, categories="all")
    found = rounded.search_many(TEXTS, 20, rule=rule, categories="all")
    for one, other in zip(plain, found, strict=True):
        common = {hit.item_id for hit in one} & {hit.item_id for hit in other}
        assert len(common) >= 14
    # It is not exact: if all scores were equal, nothing would have been rounded.
    assert [h.score for hits in plain for h in hits] != [h.score for hits in found for h in hits]


def test_float32_is_the_default_and_what_it_says(trained, retriever):
    again = Retriever.load(trained, precision="float32")
    assert again.search(TEXTS[0], 20) == retriever.search(TEXTS[0], 20)


def test_an_unknown_precision_is_one_sentence(trained):
    with pytest.raises(RarsError, match="no precision 'float8'; choose float32 or int8"):
        Retriever.load(trained, precision="float8")
