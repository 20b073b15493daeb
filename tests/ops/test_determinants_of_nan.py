"""LU factors, determinants, inverses and solutions of matrices with infinities or NaN."""

import math

import pytest

import pellucid as torch

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    "rows",
    [
        [[1.0, 1.0, 1.0], [1.0, NAN, 1.0], [1.0, 1.0, 1.0]],
        [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, NAN]],
        [[-INF, 1e-42], [1e-42, 1e-42]],
    ],
)
def test_nan_is_not_lost(rows):
    a = torch.tensor([rows, torch.eye(len(rows)).tolist()], dtype=torch.float64)
    found, one = torch.det(a).tolist()
    assert one == 1 and not abs(found) < INF
    assert torch.slogdet(a).logabsdet[1] == 0
    if math.isnan(sum(map(sum, rows))):
        assert math.isnan(found) and torch.logdet(a[0]).isnan()
        assert torch.slogdet(a)[0].tolist() == [0, 1]


def test_a_nan_is_no_zero_on_the_diagonal():
    a = torch.ones(3, 3)
    a[1, 1] = NAN
    assert torch.linalg.inv(a).isnan().any() and torch.linalg.lu_factor(a).LU.isnan().any()
    assert torch.linalg.solve(a, torch.ones(3)).isnan().any()
    assert torch.linalg.inv_ex(a).info == 0
