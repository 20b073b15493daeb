"""What the graph of a step tells that was not recorded: where a number stopped being finite."""

import numpy as np
import pytest

import pellucid as torch
from pellucid.check.rules.values.unseen import born
from pellucid.core.primitive import PRIMITIVES


@pytest.mark.parametrize(
    ("use", "name", "argument"),
    [
        (lambda x: torch.log(x), "log", (0.0, 0.0)),
        (lambda x: x / torch.zeros(2), "div", (0.0, 0.0)),
        (lambda x: torch.acosh(x), "acosh", (0.0, 0.0)),
        (lambda x: (x - 1) ** 0.5, "pow", (-1.0, -1.0)),
        (lambda x: torch.digamma(x), "digamma", (0.0, 0.0)),
    ],
)
def test_the_operation_outside_its_domain_is_found(use, name, argument):
    found = born(use(torch.zeros(2, requires_grad=True)).sum())
    assert (found.name, found.argument) == (name, argument)


def test_nothing_is_found_where_results_are_finite():
    """Results are computed again from what nodes keep, for every element-wise operation."""
    seen = set()
    for op in PRIMITIVES.values():
        if not op.elementwise or op.samples is None or op.vjp is None:
            continue
        for sample in op.samples(np.random.default_rng(0)):
            if sample.error or any(a is None for a in sample.args):
                continue
            args = [torch.tensor(np.array(a)) for a in sample.args]
            for x in args:
                x.requires_grad_(x.is_floating_point())
            made = op.call(*args, **sample.params)
            if made.requires_grad and bool(made.isfinite().all()):
                assert born(made) is None, op
                seen.add(op.name)
    assert len(seen) > 60
