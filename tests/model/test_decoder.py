"""Our pass over library blocks equals the library's own decoder on an ordinary sequence."""

from __future__ import annotations

import pytest
import torch

from rars.errors import RarsError
from rars.model.decoder import Decoder
from tests.model.small import FAMILIES, Example, family_model, retriever


@pytest.mark.parametrize("family", FAMILIES)
def test_a_plain_sequence_decodes_as_in_transformers(family):
    torch.manual_seed(1)
    model = family_model(family).eval()
    states, mask = torch.randn(2, 5, 16), torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
    inputs = torch.randn(2, 6, 16)
    expected = model.decoder(
        inputs_embeds=inputs, encoder_hidden_states=states, encoder_attention_mask=mask
    ).last_hidden_state
    decoder = Decoder(model.decoder).eval()
    positions = torch.arange(6).expand(2, -1)
    visible = torch.ones(6, 6, dtype=torch.bool).tril().expand(2, -1, -1)
    found = decoder(inputs, positions, visible, decoder.memory(states, mask))
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def test_a_shallow_decoder_keeps_the_first_layers():
    model = family_model(num_decoder_layers=3)
    shallow = Decoder(model.decoder, layers=1)
    assert len(shallow.blocks) == 1
    assert shallow.blocks[0] is model.decoder.block[0]


def test_identifiers_longer_than_the_position_bias_can_tell_are_refused():
    decoder = Decoder(family_model(relative_attention_num_buckets=8).decoder)
    with pytest.raises(RarsError, match="6 decoder positions"):
        decoder.check_rows(6)


@pytest.mark.parametrize("family", FAMILIES)
def test_rows_after_a_past_are_those_of_one_pass(family):
    torch.manual_seed(2)
    decoder = Decoder(family_model(family).decoder).eval()
    memory = decoder.memory(torch.randn(2, 5, 16), torch.ones(2, 5))
    inputs = torch.randn(2, 6, 16)
    whole, every = decoder.sequence(inputs, memory)
    first, past = decoder.sequence(inputs[:, :2], memory)
    second, past = decoder.sequence(inputs[:, 2:3], memory, past)
    third, past = decoder.sequence(inputs[:, 3:], memory, past)
    torch.testing.assert_close(torch.cat([first, second, third], dim=1), whole)
    for one, other in zip(past, every, strict=True):
        torch.testing.assert_close(one, other)


def test_category_states_are_those_of_decoding_each_step_from_the_start():
    """Each state by a pass of its own over all inputs so far, nothing kept (CaLIR's feedback)."""
    example = Example()
    model = retriever(example.vocabulary.slots, "t5", example.categories).eval()
    memory = model.decoder.memory(torch.randn(3, 5, 16), torch.ones(3, 5))
    thought = model.think(memory)
    inputs, states = model.start.expand(3, 1, -1), []
    for level in range(model.categories.levels):
        states.append(model.decoder.sequence(inputs, memory)[0][:, -1])
        following = model.categories.feed_back(level, states[-1])
        inputs = torch.cat([inputs, following[:, None]], dim=1)
    torch.testing.assert_close(thought.inputs, inputs)
    torch.testing.assert_close(thought.states, torch.stack(states, dim=1))
    torch.testing.assert_close(thought.ahead, inputs[:, -1:])
