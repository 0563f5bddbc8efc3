"""A second device on a machine that has one: its tensors compute, and meet those of the host only by a copy.

``elsewhere`` is a dispatch mode. A tensor made or copied with the device ``meta`` is kept as a ``Far`` one,
which holds a host tensor inside and calls itself a meta tensor. An operation on both kinds, or reading a far
one with ``numpy``, is an error, as it is with a GPU.
"""

from __future__ import annotations

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

FAR = torch.device("meta")


class Far(torch.Tensor):
    """A tensor of the other device."""

    @staticmethod
    def __new__(cls, held):
        return torch.Tensor._make_wrapper_subclass(
            cls, held.shape, strides=held.stride(), dtype=held.dtype, device=FAR
        )

    def __init__(self, held):
        self.held = held

    def tolist(self):
        """Copies to the host, on every device."""
        return self.held.tolist()

    @classmethod
    def of(cls, value):
        return cls(value) if isinstance(value, torch.Tensor) else value

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        raise AssertionError(f"{func} reached a far tensor outside of the mode")

    __torch_function__ = torch._C._disabled_torch_function_impl


class elsewhere(TorchDispatchMode):  # noqa: N801
    """While it is on, the device ``meta`` computes."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        flat, _ = tree_flatten((args, kwargs or {}))
        tensors = [one for one in flat if isinstance(one, torch.Tensor)]
        far = [one for one in tensors if isinstance(one, Far)]
        # A number in a tensor of no dimensions may come from the host.
        near = [one for one in tensors if not isinstance(one, Far) and one.dim()]
        copies = func is torch.ops.aten.copy_.default
        assert copies or not (far and near), f"{func} mixes devices"
        named = [one for one in flat if isinstance(one, torch.device)]
        lands = named[0] == FAR if named else bool(far)
        inside = tree_map(_inside, (args, kwargs or {}))
        found = func(*inside[0], **inside[1])
        return tree_map(Far.of, found) if lands else found


def _inside(value):
    if isinstance(value, torch.device):
        return torch.device("cpu")
    return value.held if isinstance(value, Far) else value


@torch.inference_mode()
def moved(module):
    """A module whose parameters and buffers are far, for inference alone; in place."""
    for part in module.modules():
        for held in (part._parameters, part._buffers):
            for name, value in held.items():
                if value is not None:
                    held[name] = Far(value.detach().clone())
    return module
