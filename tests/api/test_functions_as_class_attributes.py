"""Functions that PyTorch writes in C do not become methods of a class whose attribute they are."""

from dataclasses import dataclass
from typing import Any

import pytest

import pellucid as torch
import pellucid.nn.functional as F

x = torch.ones(1, 1, 2, 2)


class Loss(torch.nn.Module):
    convolve, again, activate, smooth = torch.conv2d, F.conv2d, torch.relu, F.gelu
    determinant, transform, error, join = (
        torch.linalg.det,
        torch.fft.fft,
        torch.special.erf,
        torch.cat,
    )
    in_python = F.relu

    def own(self) -> str:
        return "bound"


def test_functions_written_in_c_stay_functions():
    loss = Loss()
    assert loss.convolve(x, weight=x).item() == loss.again(x, x).item() == 4
    assert loss.activate is Loss.activate is torch.relu
    for call in (loss.activate, loss.smooth, loss.determinant, loss.transform, loss.error):
        assert isinstance(call(x), torch.Tensor)
    assert loss.join([x, x]).shape == (2, 1, 2, 2)
    assert loss.own() == "bound"


def test_functions_written_in_python_become_methods():
    with pytest.raises(RuntimeError, match="ambiguous"):  # of `inplace`
        Loss().in_python(x)


def test_defaults_of_dataclasses():
    @dataclass
    class Options:
        activate: Any = torch.tanh

    assert Options.activate is Options().activate is torch.tanh


def test_handlers_see_methods_by_their_public_names():
    seen = []

    class Noting(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            seen.append(function.__name__)
            return super().__torch_function__(function, types, args, kwargs or {})

    y = torch.ones(2, 2).as_subclass(Noting)
    _ = (y[0], 2 - y, y.dim(), y.size(0), y.split(1), y.squeeze(), len(y), bool(y[0, 0] > 0))
    y[0] = 1
    names = ("__getitem__", "__rsub__", "dim", "size", "split", "squeeze", "__len__", "__bool__")
    assert {*names, "__setitem__"} <= {*seen}


def test_counts_of_writes_call_no_method(monkeypatch):
    asked = []
    known = torch.Tensor.is_inference
    monkeypatch.setattr(torch.Tensor, "is_inference", lambda x: asked.append(x) or known(x))
    assert torch.zeros(2).add_(1)._version == 1
    assert not asked
