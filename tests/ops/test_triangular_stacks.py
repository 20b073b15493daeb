"""Triangular systems in stacks: each solution is that of its matrix alone."""

import pytest

import pellucid as torch
from pellucid.ops.linalg import _triangular


def alone(a, b, **kwargs):
    lead = b.shape[:-2]
    pairs = zip(
        a.expand(*lead, *a.shape[-2:]).reshape(-1, *a.shape[-2:]),
        b.reshape(-1, *b.shape[-2:]),
        strict=True,
    )
    made = [torch.linalg.solve_triangular(x, y, **kwargs) for x, y in pairs]
    return torch.stack(made).reshape(b.shape)


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex128])
@pytest.mark.parametrize(
    ("lead_a", "lead_b"), [((), (5, 2)), ((1, 1), (5, 2)), ((5, 2), (5, 2)), ((5, 1), (5, 2))]
)
@pytest.mark.parametrize("size", [1, 3, 9])
def test_stacks(upper, left, unit, dtype, lead_a, lead_b, size):
    torch.manual_seed(0)
    a = torch.randn(*lead_a, size, size, dtype=dtype) / size + 2 * torch.eye(size, dtype=dtype)
    b = torch.randn(*lead_b, size, 2, dtype=dtype)
    b = b if left else b.mT.contiguous()
    kwargs = {"upper": upper, "left": left, "unitriangular": unit}
    found = torch.linalg.solve_triangular(a, b, **kwargs)
    assert found.shape == b.shape
    torch.testing.assert_close(found, alone(a, b, **kwargs))


def test_only_the_triangle_is_read_and_zeros_divide():
    a = torch.full((6, 3, 3), float("nan")).triu(1) + 2 * torch.eye(3)
    a[1, 0, 0] = 0.0
    x = torch.linalg.solve_triangular(a, torch.ones(6, 3, 1), upper=False)
    assert x[0].tolist() == [[0.5]] * 3
    assert x[1, 0].item() == float("inf")


def test_one_matrix_is_solved_once(monkeypatch):
    calls = []
    monkeypatch.setattr(_triangular, "loop", lambda *args: calls.append(args) or [args[2]])
    torch.cholesky_solve(torch.ones(50, 9, 9), torch.eye(9))
    assert [b.shape for _, _, b in calls] == [(9, 450)] * 2
    torch.linalg.solve_triangular(torch.eye(3).repeat(50, 1, 1), torch.ones(50, 3, 3), upper=True)
    assert len(calls) == 2
