"""Warnings against PyTorch's: class and first line, of calls that are deprecated or likely
mistakes.
"""

import warnings
from importlib import import_module

import pytest

torch = pytest.importorskip("torch")

import pellucid  # noqa: E402


def square(m):
    return m.tensor([[2.0, 0.5], [0.5, 3.0]])


def hooked(m, forward, *args, full=False):
    class Block(m.nn.Module):
        pass

    Block.forward = lambda self, *values: forward(*values)
    block = Block()
    (block.register_full_backward_hook if full else block.register_backward_hook)(lambda *a: None)
    result = block(*args)
    result = result["x"] if isinstance(result, dict) else result
    (sum(result) if isinstance(result, tuple) else result).sum().backward()


def variable(m):
    return m.ones(2, 3, requires_grad=True)


CALLS = {
    "float": lambda m: float(m.tensor(1.5, requires_grad=True) * 2),
    "int": lambda m: int(m.tensor(1.5, requires_grad=True)),
    "complex": lambda m: complex(m.tensor(1.5, requires_grad=True)),
    "bool": lambda m: bool(m.tensor(1.5, requires_grad=True)),
    "item": lambda m: m.tensor(1.5, requires_grad=True).item(),
    "format": lambda m: f"{m.tensor(1.5, requires_grad=True):.1f}",
    "float of a detached one": lambda m: float(m.tensor(1.5, requires_grad=True).detach()),
    "float without recording": lambda m: m.no_grad()(
        lambda: float(m.tensor(1.5, requires_grad=True))
    )(),
    "lu": lambda m: m.lu(square(m)),
    "lu method": lambda m: square(m).lu(),
    "qr": lambda m: m.qr(square(m)),
    "cholesky": lambda m: m.cholesky(square(m)),
    "lu_solve": lambda m: m.lu_solve(square(m), *m.linalg.lu_factor(square(m))),
    "triangular_solve": lambda m: m.triangular_solve(square(m), square(m)),
    "chain_matmul": lambda m: m.chain_matmul(square(m), square(m)),
    "cross": lambda m: m.cross(m.ones(3, 3), m.ones(3, 3)),
    "cross with dim": lambda m: m.cross(m.ones(3, 3), m.ones(3, 3), dim=1),
    "stft": lambda m: m.stft(m.ones(64), 16, return_complex=True),
    "stft with a window": lambda m: m.stft(m.ones(64), 16, window=m.ones(16), return_complex=True),
    "istft": lambda m: m.istft(m.ones(9, 17, dtype=m.complex64), 16),
    "where of uint8": lambda m: m.where(m.ones(2, 2, dtype=m.uint8), square(m), 0.0),
    "frombuffer": lambda m: m.frombuffer(b"1234", dtype=m.uint8),
    "frombuffer, writable": lambda m: m.frombuffer(bytearray(b"1234"), dtype=m.uint8),
    "storage": lambda m: m.ones(2).storage(),
    "stateless": lambda m: import_module(m.__name__ + ".nn.utils.stateless").functional_call(
        m.nn.Linear(1, 1), {"weight": m.ones(1, 1)}, m.ones(1, 1)
    ),
    "func.functional_call": lambda m: m.func.functional_call(
        m.nn.Linear(1, 1), {"weight": m.ones(1, 1)}, m.ones(1, 1)
    ),
    "Container": lambda m: m.nn.Container(a=m.nn.Linear(1, 1)),
    "old hook, one node": lambda m: hooked(m, lambda a: a * 2, variable(m) * 1),
    "old hook, leaf": lambda m: hooked(m, lambda a: a * 2, variable(m)),
    "old hook, two nodes": lambda m: hooked(m, lambda a: a.exp() * 2, variable(m)),
    "old hook, two outputs": lambda m: hooked(m, lambda a: (a * 2, a * 3), variable(m)),
    "old hook, dictionary": lambda m: hooked(m, lambda a: {"x": a * 2}, variable(m)),
    "old hook, number as input": lambda m: hooked(m, lambda a, b: a * b, variable(m), 2.0),
    "full hook, nothing before": lambda m: hooked(
        m, lambda a: a * variable(m), m.ones(2, 3), full=True
    ),
    "full hook": lambda m: hooked(m, lambda a: a * 2, variable(m), full=True),
}


@pytest.fixture
def always():
    for m in (torch, pellucid):
        m.set_warn_always(True)
    torch.storage._warn_typed_storage_removal.__dict__["has_warned"] = False
    yield
    for m in (torch, pellucid):
        m.set_warn_always(False)


@pytest.mark.parametrize("name", CALLS)
def test_warnings(name, always):
    seen = []
    for m in (torch, pellucid):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            CALLS[name](m)
        seen.append(
            [
                (w.category, str(w.message).splitlines()[0].split(" (Triggered internally")[0])
                for w in caught
            ]
        )
        if m is pellucid:
            assert all("pellucid" not in w.filename for w in caught if "hook" not in str(w.message))
    assert seen[1] == seen[0]


def test_containers_hold_what_they_are_given():
    texts = []
    for m in (torch, pellucid):
        with pytest.warns(FutureWarning):
            texts.append(repr(m.nn.Container(first=m.nn.Linear(2, 3), second=m.nn.ReLU())))
    assert texts[0] == texts[1]
