"""The quick answers about constraints against the constraints' own."""

from __future__ import annotations

import pytest

import pellucid as torch
from pellucid.distributions import Categorical, Normal, constraints
from pellucid.distributions._validity import holds

nan, inf = float("nan"), float("inf")
VALUES = [
    torch.tensor(v) if not isinstance(v, torch.Tensor) else v
    for v in (
        1.0,
        0.0,
        -1.0,
        nan,
        inf,
        -inf,
        3,
        0,
        -2,
        [0.5, 0.5],
        [0.5, 0.6],
        [[0.2, 0.8], [1.0, 0.0]],
        [0.0, 1.0, 1.0],
        [0, 1, 1],
        [0.5, nan],
        [2.0, 3.0],
        [-1, 5],
        torch.zeros(0),
        torch.tensor([1.0, 2.0], dtype=torch.bfloat16),
        torch.tensor([True, False]),
        torch.full((100,), 0.01),
        torch.tensor([1.0, 1.0 + 5e-7]) / 2,
        [-0.1, 1.1],
    )
]
CONSTRAINTS = [
    constraints.real,
    constraints.positive,
    constraints.nonnegative,
    constraints.unit_interval,
    constraints.simplex,
    constraints.boolean,
    constraints.nonnegative_integer,
    constraints.positive_integer,
    constraints.integer_interval(0, 3),
    constraints.less_than(1),
    constraints.greater_than(torch.tensor(0.5)),
    constraints.interval(torch.tensor(0.0), 1.0),
    constraints.real_vector,
    constraints.independent(constraints.positive, 1),
    constraints.half_open_interval(0, 1),
]


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=repr)
def test_quick_answers_are_the_constraints_own(constraint):
    for value in VALUES:
        try:
            expected = bool(constraint.check(value).all())
        except (ValueError, RuntimeError, IndexError) as error:
            with pytest.raises(type(error)):
                holds(constraint, value)
        else:
            assert holds(constraint, value) is expected, (constraint, value)


def test_a_subclass_decides_for_itself():
    class Even(type(constraints.real)):
        def check(self, value):
            return value % 2 == 0

    assert not holds(Even(), torch.tensor([2.0, 3.0]))


def test_refused_parameters_and_values():
    with pytest.raises(ValueError, match="Expected parameter scale"):
        Normal(0.0, torch.tensor([1.0, -1.0]))
    with pytest.raises(ValueError, match="Expected value argument"):
        Categorical(torch.ones(3)).log_prob(torch.tensor(3))
    with pytest.raises(ValueError, match="not broadcastable"):
        Normal(torch.zeros(3), 1.0).log_prob(torch.zeros(2))
    assert (
        Normal(torch.zeros(3), 1.0, validate_args=False).log_prob(torch.tensor(nan)).isnan().all()
    )
