from __future__ import annotations

import numpy as np
import torch

from rars.identifiers.sinkhorn import centred, sinkhorn


def test_rows_and_columns_get_equal_parts():
    distances = torch.rand(40, 12, dtype=torch.float64, generator=torch.manual_seed(0))
    plan = sinkhorn(distances, epsilon=0.1, iterations=200)
    assert torch.allclose(plan.sum(1), torch.full((40,), 1 / 40, dtype=torch.float64))
    assert torch.allclose(plan.sum(0), torch.full((12,), 1 / 12, dtype=torch.float64), atol=1e-9)


def test_the_plan_is_the_kernel_scaled_by_rows_and_columns():
    distances = torch.rand(6, 5, dtype=torch.float64, generator=torch.manual_seed(1))
    plan = sinkhorn(distances, epsilon=0.2, iterations=300)
    ratio = (plan / torch.exp(-centred(distances) / 0.2)).log()
    # rank one in logarithms: log u_i + log v_j
    assert torch.allclose(
        ratio - ratio[:1] - ratio[:, :1] + ratio[0, 0], torch.zeros(6, 5).double()
    )


def test_small_epsilon_stays_finite_and_uses_every_column():
    # Nearest-column assignment would put every row on column 0.
    distances = torch.rand(256, 16, dtype=torch.float64, generator=torch.manual_seed(2))
    distances[:, 0] = 0
    plan = sinkhorn(distances, epsilon=0.003, iterations=50)
    assert torch.isfinite(plan).all()
    assert len(plan.argmax(1).unique()) == 16


def test_a_batch_is_its_matrices_one_by_one():
    distances = torch.rand(3, 7, 5, generator=torch.manual_seed(3))
    batch = sinkhorn(distances)
    for one, plan in zip(distances, batch, strict=True):
        assert torch.allclose(sinkhorn(one), plan, atol=1e-12)


def test_given_sums_are_reached_and_closed_columns_stay_empty():
    distances = torch.tensor([[0.0, 1.0, 2.0, torch.inf], [0.0, 1.5, 2.0, torch.inf]]).double()
    rows, columns = torch.ones(2).double(), torch.tensor([1.0, 1.0, 0.0, 0.0]).double()
    plan = sinkhorn(distances, rows=rows, columns=columns, iterations=200)
    assert torch.allclose(plan.sum(1), rows)
    assert np.allclose(plan.sum(0)[2:], 0)
    assert plan.argmax(1).tolist() == [1, 0], "the row with the smaller detour makes it"


def test_centring_is_independent_of_scale_and_offset():
    distances = torch.rand(4, 4, generator=torch.manual_seed(4)).double() * 50
    found = centred(distances)
    assert found.min() >= -1
    assert found.max() <= 1
    assert torch.allclose(found, centred(distances + 1000), atol=1e-6)
