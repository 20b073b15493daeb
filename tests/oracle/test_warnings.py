"""Warnings against PyTorch's: class and text, of calls that are deprecated or likely mistakes."""

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
    "grad of no leaf": lambda m: (variable(m) * 2).grad,
    "create_graph": lambda m: variable(m).sum().backward(create_graph=True),
    "create_graph, function": lambda m: m.autograd.backward(variable(m).sum(), create_graph=True),
    "anomaly mode": lambda m: m.autograd.detect_anomaly(),
    "anomaly mode, switched": lambda m: m.autograd.set_detect_anomaly(False),
    "T of three dimensions": lambda m: m.ones(2, 2, 2).T,
    "T of one dimension": lambda m: m.ones(2).T,
    "list as an index": lambda m: square(m)[[[0, 1], [1, 0]]],
    "list as an index to write to": lambda m: square(m).__setitem__([[0, 1], [1, 0]], 3.0),
    "bytes as an index": lambda m: square(m)[m.tensor([1, 0], dtype=m.uint8)],
    "std of one": lambda m: m.ones(1).std(),
    "var of nothing": lambda m: m.ones(0).var(),
    "var of no rows": lambda m: m.var_mean(m.ones(0, 2), 1),
    "std of empty rows": lambda m: m.std(m.ones(2, 0), 1),
    "autocast to float32": lambda m: m.autocast("cpu", dtype=m.float32),
    "autocast of CUDA": lambda m: m.autocast("cuda"),
    "pinned batches": lambda m: list(m.utils.data.DataLoader([1], pin_memory=True)),
    "softmax without dim": lambda m: m.nn.Softmax()(square(m)),
    "log_softmax without dim": lambda m: m.nn.functional.log_softmax(square(m)),
    "sizes of a loss": lambda m: m.nn.functional.mse_loss(m.ones(3, 1), m.ones(3)),
    "reduction of a loss": lambda m: m.nn.L1Loss(reduce=False),
    "out of another size": lambda m: m.add(m.ones(3), 1, out=m.ones(2)),
    "complex to real": lambda m: m.ones(2, dtype=m.complex64).float(),
    "copy of a tensor": lambda m: m.tensor(m.ones(2)),
    "range": lambda m: m.range(0, 3),
    "meshgrid": lambda m: m.meshgrid(m.ones(2), m.ones(2)),
    "nothing to initialize": lambda m: m.nn.init.normal_(m.ones(0)),
    "dropout of one layer": lambda m: m.nn.LSTM(2, 2, dropout=0.5),
    "clip_grad_norm": lambda m: m.nn.utils.clip_grad_norm([variable(m)], 1.0),
    "scheduler before the optimizer": lambda m: m.optim.lr_scheduler.StepLR(
        m.optim.SGD([variable(m)], 0.1), 1
    ).step(),
    "epoch of a scheduler": lambda m: m.optim.lr_scheduler.StepLR(
        m.optim.SGD([variable(m)], 0.1), 1
    ).step(3),
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
            [(w.category, str(w.message).split(" (Triggered internally")[0]) for w in caught]
        )
        if m is pellucid:
            assert {w.filename for w in caught} <= {__file__}
    assert seen[1] == seen[0]


def test_containers_hold_what_they_are_given():
    texts = []
    for m in (torch, pellucid):
        with pytest.warns(FutureWarning):
            texts.append(repr(m.nn.Container(first=m.nn.Linear(2, 3), second=m.nn.ReLU())))
    assert texts[0] == texts[1]
