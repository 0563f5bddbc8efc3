"""Stacks give what the library's give, ours and theirs, and ours take its weights by name."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from rars.model import backbone
from rars.model.decoder import Decoder
from rars.model.encoder import run_blocks
from rars.model.stacks import Shape, Stack
from tests.model.small import FAMILIES, family_model

GATED = {"feed_forward_proj": "gated-gelu"}
KINDS = [*((family, {}) for family in FAMILIES), ("t5", GATED), ("t5", {"num_layers": 1})]


def masked(length=40):
    torch.manual_seed(1)
    mask = torch.ones(4, length, dtype=torch.long)
    mask[1, length // 2 :] = 0
    mask[3, 1:] = 0
    return torch.randint(0, 50, (4, length)), mask


@pytest.mark.parametrize(("family", "changes"), KINDS)
def test_an_encoder_gives_the_library_s_states(family, changes):
    torch.manual_seed(0)
    model = family_model(family, **changes).eval()
    own = Stack(Shape.of(model.config.to_dict())).eval()
    own.load_state_dict(model.encoder.state_dict())
    for length in (1, 7, 200):  # beyond the last bucket of distances, too
        _, padded = masked(length)
        for mask in (padded, torch.ones_like(padded)):
            ready = torch.randn(*mask.shape, 16)
            with torch.no_grad():
                theirs = model.encoder(inputs_embeds=ready, attention_mask=mask).last_hidden_state
                for stack in (own, model.encoder):
                    ours = run_blocks(stack, ready, mask)
                    torch.testing.assert_close(ours[mask.bool()], theirs[mask.bool()])
                    assert not ours[mask == 0].any()


@pytest.mark.parametrize(("family", "changes"), KINDS)
def test_an_encoder_learns_as_the_library_s_does(float64, family, changes):
    """The same gradients of every weight, whatever is padding."""
    torch.manual_seed(0)
    model = family_model(family, dropout_rate=0.0, **changes).train()
    _, mask = masked(9)
    ready, wanted = torch.randn(*mask.shape, 16), torch.randn(*mask.shape, 16)
    found = []
    for encode in (
        lambda: model.encoder(inputs_embeds=ready, attention_mask=mask).last_hidden_state,
        lambda: run_blocks(model.encoder, ready, mask),
    ):
        model.zero_grad()
        (encode() * wanted * mask[:, :, None]).sum().backward()
        named = model.encoder.named_parameters()
        found.append({name: one.grad.clone() for name, one in named if one.grad is not None})
    theirs, ours = found
    assert theirs.keys() == ours.keys()
    for name, value in theirs.items():
        torch.testing.assert_close(ours[name], value)


@pytest.mark.parametrize(("family", "changes"), KINDS)
def test_a_decoder_of_them_takes_the_library_s_weights_and_computes_the_same(family, changes):
    torch.manual_seed(0)
    model = family_model(family, **changes).eval()
    facts = {"encoder": model.config.to_dict(), "decoder": None, "layers": None}
    theirs = Decoder(model.decoder).eval()
    made = backbone.rebuild(facts, trained=True)
    ours = Decoder(made.decoder, made.decoder_layers).eval()
    ours.load_state_dict(theirs.state_dict())
    rows, states = torch.randn(3, 4, 16), torch.randn(3, 6, 16)
    mask = torch.ones(3, 6, dtype=torch.long)
    places = torch.arange(4).expand(3, -1)
    sees = torch.ones(4, 4, dtype=torch.bool).tril().expand(3, -1, -1)
    with torch.no_grad():
        found = [one(rows, places, sees, one.memory(states, mask)) for one in (ours, theirs)]
    assert torch.equal(*found)


def test_another_kind_of_model_or_an_unknown_activation_is_left_to_the_library():
    config = family_model("t5").config.to_dict()
    assert Shape.of({**config, "model_type": "bert"}) is None
    assert Shape.of({**config, "dense_act_fn": "snake"}) is None
    assert Shape.of({"model_type": "t5"}) is None


def test_they_need_no_transformers():
    code = "import sys, rars.model.stacks; sys.exit('transformers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
