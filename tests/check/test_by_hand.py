"""The comparison of a backward with its forward leaves no trace of the calls that it makes."""

import sys

import pellucid as torch
from pellucid.check import watching


class Talkative(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        print("forward of", x.dtype)
        print("forward", file=sys.stderr)
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    def backward(ctx, g):
        print("backward")
        (x,) = ctx.saved_tensors
        return 3 * g * x


def test_what_the_forward_prints_is_printed_once_for_each_call_of_the_program(capsys):
    with watching() as check:
        Talkative.apply(torch.randn(3, requires_grad=True)).sum().backward()
    assert [f.name for f in check.findings] == ["backward-by-hand"]
    out, err = capsys.readouterr()
    assert out == "forward of torch.float32\nbackward\n"
    assert err.count("forward\n") == 1
