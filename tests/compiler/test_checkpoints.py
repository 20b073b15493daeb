"""Checkpoints in compiled functions whose graph leaves them: what they do once more in the backward
happens when it is asked for, and not before.
"""

import copy

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


@pytest.mark.filterwarnings("ignore")  # of what stays in Python
@pytest.mark.parametrize(
    "norm",
    [nn.LayerNorm(4), nn.LayerNorm(4, bias=False), nn.BatchNorm1d(4), nn.GroupNorm(2, 4)],
)
@pytest.mark.parametrize("written", [True, False])
def test_statistics_are_those_of_the_second_run_where_it_reads_what_was_written_to(norm, written):
    """A norm's mean and deviation were those of the first run, and its input that of the second; a
    group norm was several steps in a traced call, and one operation in the second run after it.
    """
    torch.manual_seed(
        0
    )  # a checkpoint looks at the generator, which is made when it is first asked for
    torch.rand(1)
    grads = []
    for compiled in (False, True):
        layer, shift = copy.deepcopy(norm), torch.zeros(1)
        x = torch.tensor([[0.4, -0.2, -0.3, -1.2], [1.0, 2.0, -1.0, 0.5]])

        def block(x, layer=layer, shift=shift):
            return layer(x + shift)

        def step(x, block=block, shift=shift):
            h = checkpoint(block, x, use_reentrant=False)
            if written:
                shift.add_(1)
            h.square().mean().backward()

        run = torch.compile(step) if compiled else step
        for _ in range(4):
            run(x)
        grads.append([p.grad for p in layer.parameters()])
        if compiled and not written:
            assert sum(version.hits for version in run.versions) > 1
    for got, wanted in zip(grads[1], grads[0], strict=True):
        torch.testing.assert_close(got, wanted)


def test_a_stream_that_nobody_drew_from_keeps_no_line_in_python():
    """A comparison of two keys was taken for a look at values."""
    torch.manual_seed(0)
    layer, x = nn.LayerNorm(4), torch.rand(2, 4)
    torch.manual_seed(1)

    def step(x):
        checkpoint(layer, x, use_reentrant=False).square().mean().backward()

    run = torch.compile(step, fullgraph=True)
    for _ in range(5):
        run(x)
    assert sum(version.hits for version in run.versions) > 1
