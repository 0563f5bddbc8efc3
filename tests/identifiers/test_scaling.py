"""The compiled scaling of small matrices is Sinkhorn's, and repairs collisions to the same codes."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from rars.identifiers.scaling import scale
from rars.identifiers.sinkhorn import kernel_of, sinkhorn


@given(
    st.integers(1, 5),
    st.integers(1, 6),
    st.integers(1, 21),
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.003, 0.05, 1.0]),
)
def test_plans_are_those_of_the_plain_scaling(groups, members, codes, seed, epsilon):
    """Any height and width (eight columns are summed side by side), some columns taken by others."""
    rng = np.random.default_rng(seed)
    costs = rng.random((groups, members, codes))
    taken = rng.random((groups, codes)) < 0.3
    taken[:, 0] = False
    costs = np.where(taken[:, None], np.inf, costs)
    rows = np.full((groups, members), codes / members)
    columns = np.where(taken, 0.0, codes / (~taken).sum(1, keepdims=True))
    given_ = torch.from_numpy(costs)
    plain = sinkhorn(
        given_, epsilon=epsilon, rows=torch.from_numpy(rows), columns=torch.from_numpy(columns)
    )
    plan = kernel_of(given_, epsilon).numpy()
    scale(plan, rows, columns)
    np.testing.assert_allclose(plan, plain.numpy(), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(plan.sum(2), rows, rtol=1e-9)
    assert not plan[np.broadcast_to(taken[:, None], plan.shape)].any()
