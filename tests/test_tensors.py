"""Tensors of modules and optimisers come back from a file as they were."""

from __future__ import annotations

import torch
from torch import nn

from rars import tensors


class Tied(nn.Module):
    """Two names of one table, as a language model has them; and an empty buffer."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(50, 4)
        self.said = nn.Linear(4, 50, bias=False)
        self.said.weight = self.words.weight
        self.own = nn.Linear(4, 4)
        self.register_buffer("nothing", torch.zeros(0))


def test_a_tensor_of_two_names_is_written_once_and_read_under_both(tmp_path):
    state = Tied().state_dict()
    tensors.write(tmp_path / "state.safetensors", state)
    found = tensors.read(tmp_path / "state.safetensors")
    assert found.keys() == state.keys()
    for name, value in state.items():
        assert torch.equal(found[name], value), name
    assert found["words.weight"].data_ptr() == found["said.weight"].data_ptr()
    assert (tmp_path / "state.safetensors").stat().st_size < 2 * 4 * 50 * 4


def test_a_copy_keeps_its_values_and_what_is_one():
    model = Tied()
    kept = tensors.copied(model.state_dict())
    before = kept["words.weight"].clone()
    with torch.no_grad():
        model.words.weight.add_(1)
    assert torch.equal(kept["said.weight"], before)
    assert kept["said.weight"].data_ptr() == kept["words.weight"].data_ptr()


def test_an_optimiser_goes_on_as_if_nothing_had_been(tmp_path):
    def stepped(model, optimizer):
        optimizer.zero_grad()
        model.own(model.words(torch.arange(5))).square().sum().backward()
        optimizer.step()

    torch.manual_seed(0)
    one = Tied()
    first = torch.optim.AdamW(one.parameters(), lr=0.1)
    stepped(one, first)
    tensors.write(tmp_path / "model", one.state_dict())
    tensors.write(tmp_path / "optimizer", tensors.of_optimizer(first))
    other = Tied()
    second = torch.optim.AdamW(other.parameters(), lr=0.1)
    other.load_state_dict(tensors.read(tmp_path / "model"))
    tensors.restore_optimizer(second, tensors.read(tmp_path / "optimizer"))
    for model, optimizer in ((one, first), (other, second)):
        stepped(model, optimizer)
    assert torch.equal(one.words.weight, other.words.weight)
    assert tensors.digest(one.state_dict()) == tensors.digest(other.state_dict())


def test_torchs_generator_is_put_back():
    torch.manual_seed(3)
    kept = tensors.of_random()
    wanted = torch.rand(4)
    torch.rand(10)
    tensors.restore_random(kept)
    assert torch.equal(torch.rand(4), wanted)
