"""Checkpoints in compiled functions whose graph leaves them: what they do once more in the backward
happens when it is asked for, and not before.
"""

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.utils.checkpoint import checkpoint


class Counting(nn.Module):
    """Changes itself at each call, as averages and counters do."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.register_buffer("seen", torch.zeros(4))
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        self.seen = 0.9 * self.seen + 0.1 * x.detach().mean(0)
        return torch.tanh(self.inner(x))


@pytest.mark.filterwarnings("ignore")  # the one that changes itself runs eagerly
@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("kind", ["norm", "counting"])
def test_state_is_written_as_often_as_eagerly(kind, reentrant, backward):
    def left_behind(compiling):
        torch.manual_seed(0)
        model = (
            Counting() if kind == "counting" else nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
        )

        def function(x):
            return checkpoint(model, x, use_reentrant=reentrant)

        run = torch.compile(function) if compiling else function
        found = []
        for call in range(4):
            result = run((torch.arange(12.0).reshape(3, 4) + call).requires_grad_())
            found.append(
                {
                    **{k: v.tolist() for k, v in model.named_buffers()},
                    "calls": getattr(model, "calls", 0),
                }
            )
            if backward:
                result.sum().backward()
                found.append(
                    {
                        **{k: v.tolist() for k, v in model.named_buffers()},
                        "calls": getattr(model, "calls", 0),
                    }
                )
        return found

    for got, want in zip(left_behind(True), left_behind(False), strict=True):
        for key, value in want.items():
            assert got[key] == pytest.approx(value, rel=1e-5), key
