"""Results that look into a tensor that requires grad without being part of its graph."""

import numpy as np
import pytest

import pellucid as torch
from pellucid.compiler.run.results import _view


@pytest.mark.parametrize("through_view", [False, True])
def test_a_detached_result_may_be_written_to(through_view):
    p = torch.ones(3, requires_grad=True)

    @torch.compile
    def function(x):
        return (p.view(-1) if through_view else p).detach(), x + 1

    for call in range(4):
        before = p._version
        detached, _ = function(torch.ones(1))
        detached[0] = float(call)  # refused from the second call on
        assert p[0].item() == call and p._version == before + 1 and not detached.requires_grad


@pytest.mark.filterwarnings("ignore::pellucid.compiler.CompileWarning")
def test_a_view_made_without_gradients_may_not():
    p = torch.ones(3, requires_grad=True)

    @torch.compile
    def function(x):
        with torch.no_grad():
            return p[:2], x + 1

    for _ in range(3):
        view, _ = function(torch.ones(1))
        with pytest.raises(RuntimeError, match="A view was created in no_grad mode"):
            view.mul_(2)


def test_a_view_without_elements_lies_anywhere():
    base = torch.zeros(1, 0, 4)
    made = _view(base, np.empty((1, 0, 4), np.float32))
    assert made.shape == (1, 0, 4)
    assert made.storage_offset() == 0
    compiled = torch.compile(lambda w: w.unsafe_chunk(2)[0])
    for _ in range(4):
        assert compiled(base).shape == (1, 0, 4)
