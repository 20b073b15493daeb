"""`torch.func.functional_call` and `torch.nn.utils.stateless`: results, refusals, and what is left in
the module are PyTorch's.
"""

import importlib
import warnings

import pytest

torch = pytest.importorskip("torch")
import pellucid  # noqa: E402


def models(root):
    class Plain(root.nn.Module):
        def __init__(self):
            super().__init__()
            self.l1 = root.nn.Linear(1, 1)
            root.nn.init.ones_(self.l1.weight)
            root.nn.init.zeros_(self.l1.bias)
            self.register_buffer("buffer", root.ones(1))
            self.number = 0.0

        def forward(self, x):
            return self.l1(x) + self.buffer + getattr(self, "extra", 0)

    class Tied(Plain):
        def __init__(self):
            super().__init__()
            self.tied_bias = self.l1.bias
            self.register_buffer("tied_buffer", self.buffer)

        def forward(self, x):
            return super().forward(x) + self.tied_bias + self.tied_buffer

    class Counting(Plain):
        def forward(self, x):
            self.buffer = self.buffer + 1
            return super().forward(x)

    circular = Plain()
    circular.l1.owner = circular
    return {"plain": Plain(), "tied": Tied(), "counting": Counting(), "circular": circular}


def tensors(root):
    one, two, three = root.ones(1), root.full((1,), 2.0), root.full((1, 1), 3.0)
    return {
        "a weight": {"l1.weight": three},
        "all": {"l1.weight": three, "l1.bias": two, "buffer": one},
        "an attribute": {"extra": two},
        "a parameter as an attribute": {"extra": root.nn.Parameter(two)},
        "a number's name": {"number": one},
        "a number": {"l1.weight": 3},
        "a later number": {"extra": one, "l1.weight": 3},
        "None": {"l1.bias": None},
        "a module that is not there": {"nothing.here": one},
        "no name": {"": one},
        "both ties": {"l1.bias": one, "tied_bias": two},
        "one tie": {"l1.bias": two, "l1.weight": three, "buffer": one},
        "a long way round": {"l1.owner.l1.weight": three},
    }


def told(root, model, given, function, options):
    stateless = importlib.import_module(f"{root.__name__}.nn.utils.stateless")
    call = {
        "func": root.func.functional_call,
        "stateless": stateless.functional_call,
        "private": stateless._functional_call,
    }[function]
    module, values = models(root)[model], tensors(root)[given]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = call(module, values, root.ones(1, 1), **options).tolist()
        except Exception as error:
            result = type(error).__name__, str(error)
    left = {name: value.tolist() for name, value in module.named_parameters()}
    left |= {name: value.tolist() for name, value in module.named_buffers()}
    kept = {k: v.tolist() if hasattr(v, "tolist") else v for k, v in values.items()}
    return result, left, kept, hasattr(module, "extra")


@pytest.mark.parametrize("given", tensors(pellucid))
@pytest.mark.parametrize("model", ["plain", "tied", "counting", "circular"])
def test_a_call_is_as_in_pytorch(model, given):
    for function in ("func", "stateless", "private"):
        for tie in (True, False):
            for strict in (False, True):
                if model == "circular" and (tie or strict):
                    continue  # there is no end of its names
                options = {"tie_weights": tie, "strict": strict}
                found, wanted = (
                    told(root, model, given, function, options) for root in (pellucid, torch)
                )
                assert found == wanted, (function, options)
