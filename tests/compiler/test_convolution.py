"""Convolutions and max pooling as native items of compiled steps: eager's numbers, whatever the
layout, and no call of Python.
"""

import numpy as np
import pytest

import pellucid as torch
import pellucid.nn.functional as F
from pellucid.llvm import target, threads

pytestmark = pytest.mark.skipif(not target.available(), reason="no compiler")

# x, w, stride, padding, dilation, groups
SHAPES = {
    "image": ((4, 3, 20, 20), (8, 3, 3, 3), 1, 1, 1, 1),
    "no padding": ((3, 8, 13, 15), (16, 8, 3, 3), 1, 0, 1, 1),
    "stride": ((2, 16, 16, 16), (32, 16, 3, 3), 2, 1, 1, 1),
    "stride, 1x1": ((2, 16, 15, 15), (32, 16, 1, 1), 2, 0, 1, 1),
    "small planes": ((5, 32, 8, 8), (64, 32, 3, 3), 1, 1, 1, 1),
    "depthwise": ((2, 16, 12, 12), (16, 1, 3, 3), 1, 1, 1, 16),
    "groups": ((2, 12, 9, 9), (18, 4, 3, 3), 1, 1, 1, 3),
    "dilation": ((2, 4, 14, 14), (6, 4, 3, 3), 1, 2, 2, 1),
    "one output channel": ((3, 5, 11, 11), (1, 5, 3, 3), 1, 0, 1, 1),
    "line": ((3, 4, 50), (8, 4, 5), 2, 2, 1, 1),
    "volume": ((2, 3, 6, 7, 8), (4, 3, 3, 3, 3), 1, 1, 1, 1),
    "bands": ((1, 64, 90, 90), (32, 64, 1, 1), 1, 0, 1, 1),
    "large": ((2, 64, 16, 16), (128, 64, 3, 3), 1, 1, 1, 1),
}


def kinds(compiled):
    version = compiled.versions[0]
    runs = version.code.executables
    assert all(run.failure is None for run in runs)
    return [(item.kind, i.op) for run in runs for item in run.items for i in item.instructions]


def same(f, tensors, calls=4):
    """Run `f` of tensors with gradients, eagerly and compiled, on new values each time."""
    generator = torch.Generator().manual_seed(1)

    def step():
        for t in tensors:
            t.grad = None
        y = f(*tensors)
        (y * y.sin()).sum().backward()
        return y

    compiled = torch.compile(step)
    for _ in range(calls):
        with torch.no_grad():
            for t in tensors:
                t.copy_(torch.randn(*t.shape, generator=generator))
        expected, wanted = step(), [t.grad for t in tensors]
        got = compiled()
        torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-4)
        for t, g in zip(tensors, wanted, strict=True):
            scale = max(1.0, float(g.abs().max()))
            torch.testing.assert_close(t.grad / scale, g / scale, rtol=1e-4, atol=1e-5)
    assert compiled.versions[0].hits >= calls - 2
    return compiled


@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("name", SHAPES)
def test_convolutions_and_their_gradients_are_native(name, biased):
    x, w, *args = SHAPES[name]
    conv = {3: F.conv1d, 4: F.conv2d, 5: F.conv3d}[len(x)]
    tensors = [torch.zeros(*x, requires_grad=True), torch.zeros(*w, requires_grad=True)]
    if biased:
        tensors.append(torch.zeros(w[0], requires_grad=True))
    compiled = same(lambda x, w, b=None: conv(x, w, b, *args), tensors)
    made = kinds(compiled)
    assert not [op for kind, op in made if kind == "eager"]
    assert {op for kind, op in made if kind == "native"} >= {
        "conv",
        "conv_input_grad",
        "conv_weight_grad",
    }


def test_views_are_copied_first():
    x = torch.zeros(2, 10, 12, 4, requires_grad=True)
    w = torch.zeros(3, 3, 4, 6, requires_grad=True)
    compiled = same(
        lambda x, w: F.conv2d(x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1), padding=1)[:, 1:4, ::2],
        [x, w],
    )
    assert not [op for kind, op in kinds(compiled) if kind == "eager"]


def test_a_repeated_image_is_read_where_it_is_repeated():
    x, w = torch.zeros(1, 4, 9, 9, requires_grad=True), torch.zeros(5, 4, 3, 3, requires_grad=True)
    same(lambda x, w: F.conv2d(x.expand(3, 4, 9, 9), w), [x, w])


def test_transposed_convolutions_are_native():
    x, w, b = (torch.zeros(*s, requires_grad=True) for s in ((2, 8, 7, 7), (8, 5, 4, 4), (5,)))
    compiled = same(
        lambda x, w, b: F.conv_transpose2d(x, w, b, stride=2, padding=1, output_padding=1),
        [x, w, b],
    )
    assert not [op for kind, op in kinds(compiled) if kind == "eager"]


@pytest.mark.parametrize(
    "options", [{}, {"stride": 1}, {"padding": 1}, {"ceil_mode": True}, {"dilation": 2}]
)
def test_max_pooling_is_native(options):
    x = torch.zeros(3, 5, 13, 14, requires_grad=True)
    compiled = same(lambda x: F.max_pool2d(x, 3, **options), [x])
    made = kinds(compiled)
    assert not [op for kind, op in made if kind == "eager"]
    assert {op for kind, op in made if kind == "native"} == {"max_pool", "max_pool_grad"}


def test_max_pooling_without_gradient():
    x = torch.randn(2, 3, 8, 8)
    compiled = torch.compile(lambda x: F.max_pool2d(x, 2) * 2)
    for _ in range(3):
        torch.testing.assert_close(compiled(x), F.max_pool2d(x, 2) * 2)
    assert ("native", "max_pool") in kinds(compiled)


def test_max_pooling_hands_its_winners_to_a_backward_outside():
    x = torch.randn(2, 3, 8, 8, requires_grad=True)
    compiled = torch.compile(lambda x: F.max_pool2d(x, 2))
    for _ in range(3):
        x.grad = None
        (compiled(x) * torch.arange(4.0)).sum().backward()
        got, x.grad = x.grad, None
        (F.max_pool2d(x, 2) * torch.arange(4.0)).sum().backward()
        torch.testing.assert_close(got, x.grad)


def network():
    torch.manual_seed(0)
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(1, 8, 3),
        nn.ReLU(),
        nn.Conv2d(8, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 32, 3, 2, 1),
        nn.Flatten(),
        nn.Linear(32 * 6 * 6, 10),
    )


def train(compiled, steps=6, batch=12):
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    generator = torch.Generator().manual_seed(2)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    run = torch.compile(step) if compiled else step
    x, y = (
        torch.randn(batch, 1, 26, 26, generator=generator),
        torch.randint(0, 10, (batch,), generator=generator),
    )
    return [run(x, y).item() for _ in range(steps)], run


def test_weights_that_an_update_changed_are_laid_out_anew():
    wanted, _ = train(False)
    got, run = train(True)
    np.testing.assert_allclose(got, wanted, rtol=2e-5)
    assert not [op for kind, op in kinds(run) if kind == "eager"]
    assert run.versions[0].hits >= 4
    assert len(set(got)) == len(got)


def test_more_threads_than_there_is_room_for_mean_another_version():
    before = threads.get_num_threads()
    x, w = torch.randn(8, 16, 12, 12), torch.randn(24, 16, 3, 3)
    compiled = torch.compile(lambda x, w: F.conv2d(x, w, padding=1) + 1)
    try:
        results = []
        for count in (1, 1, 3, 3, 2, 1):
            threads.set_num_threads(count)
            results.append(compiled(x, w).numpy().copy())
        wanted = (F.conv2d(x, w, padding=1) + 1).numpy()
        for made in results:
            np.testing.assert_array_equal(made, wanted)
    finally:
        threads.set_num_threads(before)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_steps_do_not_depend_on_the_number_of_threads(count):
    before = threads.get_num_threads()
    wanted, _ = train(True, steps=3)
    try:
        threads.set_num_threads(count)
        got, _ = train(True, steps=3)
    finally:
        threads.set_num_threads(before)
    assert got == wanted


def test_infinities_and_nan_are_eagers():
    """Winograd's method computes by the definition where numbers differ too much in size, in
    compiled steps too, and only then.
    """
    x, w = (
        torch.randn(2, 16, 12, 12, requires_grad=True),
        torch.randn(16, 16, 3, 3, requires_grad=True),
    )

    def step():
        x.grad = w.grad = None
        y = F.conv2d(x, w, padding=1)
        y.sum().backward()
        return y

    compiled = torch.compile(step)
    clean = step().clone()
    for value in (None, float("nan"), float("inf"), 3e38, 1e8, 1e30, 1e3, None):
        with torch.no_grad():
            before = x[1, 3, 5, 6].clone()
            x[1, 3, 5, 6] = before if value is None else value
        expected, wanted = step(), [x.grad, w.grad]
        got = compiled()
        torch.testing.assert_close(got, expected, rtol=0, atol=0, equal_nan=True)
        for t, g in zip((x, w), wanted, strict=True):
            torch.testing.assert_close(t.grad, g, rtol=0, atol=0, equal_nan=True)
        with torch.no_grad():
            x[1, 3, 5, 6] = before
    torch.testing.assert_close(got, clean, rtol=0, atol=0)
    assert compiled.versions[0].hits >= 3
