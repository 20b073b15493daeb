"""Operations counted, by module, in forward and backward."""

import pellucid as torch
from pellucid.utils.flop_counter import FlopCounterMode, register_flop_formula
from pellucid.utils.module_tracker import ModuleTracker

aten = torch.ops.aten


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.linear = torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.Linear(8, 5)

    def forward(self, x):
        return self.linear(self.conv(x).mean((2, 3)))


def test_forward_and_backward_by_module():
    with FlopCounterMode(display=False) as counter:
        Net()(torch.randn(2, 3, 8, 8)).sum().backward()
    counts = counter.get_flop_counts()
    assert counts["Net.conv"] == {aten.convolution: 55296, aten.convolution_backward: 55296}
    assert (
        counts["Net.linear"] == {aten.addmm: 160, aten.mm: 320}
        and counter.get_total_flops() == 2 * 55296 + 480
    )
    assert counter.get_table().splitlines() == [
        "Module                           FLOP    % Total",
        "---------------------------  --------  ---------",
        "Net                          111.072K    100.00%",
        "- aten.convolution            55.296K     49.78%",
        "- aten.addmm                   0.160K      0.14%",
        "- aten.mm                      0.320K      0.29%",
        "- aten.convolution_backward   55.296K     49.78%",
        "Net.conv                     110.592K     99.57%",
        "- aten.convolution            55.296K     49.78%",
        "- aten.convolution_backward   55.296K     49.78%",
        "Net.linear                     0.480K      0.43%",
        "- aten.addmm                   0.160K      0.14%",
        "- aten.mm                      0.320K      0.29%",
    ]


def test_products():
    with FlopCounterMode(display=False) as counter:
        torch.bmm(torch.ones(2, 3, 4), torch.ones(2, 4, 5))
        torch.ones(3, 4) @ torch.ones(4, 5)
        torch.nn.functional.conv_transpose2d(torch.ones(1, 3, 5, 5), torch.ones(3, 4, 3, 3))
    assert counter.get_flop_counts()["Global"] == {
        aten.bmm: 240,
        aten.mm: 120,
        aten.convolution: 5400,
    }


def test_formulas_of_programs():
    with FlopCounterMode(
        display=False, custom_mapping={aten.exp: lambda x, out_shape=None, **_: x[0] * out_shape[1]}
    ) as counter:
        torch.ones(2, 3).exp()
    assert (
        counter.get_total_flops() == 6
        and aten.mm in __import__("pellucid.utils.flop_counter", fromlist=["x"]).flop_registry
    )
    try:
        register_flop_formula(aten.mm)(lambda *_: 0)
    except RuntimeError as error:
        assert "duplicate registrations" in str(error)


def test_modules_are_tracked():
    model, seen = torch.nn.Sequential(torch.nn.Linear(2, 2)), []
    with ModuleTracker() as tracker:
        model[0].register_forward_pre_hook(lambda *_: seen.append(set(tracker.parents)))
        model(torch.ones(1, 2)).sum().backward()
        assert tracker.parents == {"Global"}
    assert seen == [{"Global", "Sequential", "Sequential.0"}]


def test_what_a_checkpoint_computes_again_is_counted_again():
    from pellucid.utils.checkpoint import checkpoint

    counts = []
    for step in (lambda f, a: f(a), lambda f, a: checkpoint(f, a, use_reentrant=False)):
        x = torch.rand(4, 4, requires_grad=True)
        with FlopCounterMode(display=False) as counter:
            step(lambda a: (a @ a).sin() @ a, x).backward(torch.ones(4, 4))
        counts.append((counter.get_total_flops(), x.grad.shape))
    assert counts == [(6 * 128, (4, 4)), (7 * 128, (4, 4))]
