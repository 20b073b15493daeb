"""Autocast on device types that are not there, or with an index; what backward says first of several
mistakes.
"""

import warnings

import pytest

torch = pytest.importorskip("torch")
import pellucid  # noqa: E402

DEVICES = """cpu cuda xpu mps meta xla hip hpu mtia ipu maia vulkan lazy fpga cuda:0 cpu:0
cpu:1 foo:1 foo""".split()


def told(call):
    """What a call returns or raises, and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = call()
        except Exception as error:
            result = type(error).__name__, str(error)
    return result, [str(w.message) for w in caught]


def state(root, name, dtype):
    dtype = dtype and getattr(root, dtype)
    made = told(lambda: root.autocast(name, dtype=dtype))
    yield made[1] if isinstance(made[0], root.autocast) else made
    if isinstance(made[0], root.autocast):
        with made[0]:
            yield (root.ones(2, 2) @ root.ones(2, 2)).dtype
            for each in "cpu", "cuda", "mps", name:
                yield root.is_autocast_enabled(each), root.get_autocast_dtype(each)
            with root.autocast(name, enabled=False):
                yield root.is_autocast_enabled(name)
    for ask in (
        root.is_autocast_enabled,
        root.get_autocast_dtype,
        root.amp.is_autocast_available,
        lambda name: root.set_autocast_enabled(name, False),
    ):
        yield told(lambda ask=ask: ask(name))


@pytest.mark.parametrize("dtype", [None, "float16", "float32"])
@pytest.mark.parametrize("name", [*DEVICES, "", 3])
def test_autocast(name, dtype):
    ours, theirs = (
        str(list(state(root, name, dtype))).replace("pellucid.", "torch.")
        for root in (pellucid, torch)
    )
    assert ours == theirs


GRADIENTS = {
    "no scalar, no gradient asked for": lambda t, a: t.autograd.grad(a * 2, t.ones(1)),
    "a constant": lambda t, a: t.autograd.grad(t.ones(2), t.ones(1)),
    "a constant by a leaf": lambda t, a: t.autograd.grad(t.ones(2), a),
    "seed of another shape": lambda t, a: t.autograd.grad(a * 2, t.ones(1), t.ones(3)),
    "one of two": lambda t, a: t.autograd.grad([a.sum(), a * 2], t.ones(1), [None, None]),
    "backward": lambda t, a: t.autograd.backward(a * 2, inputs=t.ones(1)),
    "backward of a constant": lambda t, a: t.autograd.backward(t.ones(1), inputs=t.ones(1)),
    "method": lambda t, a: (a * 2).backward(inputs=t.ones(1)),
    "method of a number": lambda t, a: a.sum().backward(inputs=[a, t.ones(1)]),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_the_first_of_several_mistakes(name):
    call = GRADIENTS[name]
    ours, theirs = (
        told(lambda root=root: call(root, root.ones(2, requires_grad=True)))
        for root in (pellucid, torch)
    )
    assert ours == theirs
