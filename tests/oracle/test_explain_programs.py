"""The programs of tests/debug/explain_scripts.py on PyTorch: the symptom that `explain` has a cause
for is there as well.
"""

import contextlib
import io
import re
import runpy
import warnings
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

CASES = runpy.run_path(str(Path(__file__).parents[1] / "debug" / "explain_scripts.py"))["CASES"]
MISSING = {
    "no-backward",
    "non-leaf",
    "not-requires-grad",
    "detached",
    "no-grad-block",
    "through-number",
    "through-numpy",
    "through-integer",
    "no-create-graph",
    "not-ancestor",
    "no-derivative",
    "set-to-none",
}
ZERO = {"dead-relu", "saturation", "masked", "times-zero", "cancels", "hook", "at-minimum"}
FAILING = {"overwritten-a loss whose backward failed"}  # asked about after the error
PARTLY = {
    "through-number-a term of the loss",
    "through-numpy-a term of the loss",
    "through-number-a term made a tensor",
}
ZEROED = {"through-integer-round", "set-to-none-to zero"}  # zeros in place of None


def run(text):
    names = {"__name__": "__main__"}
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            exec(compile(text, "program.py", "exec"), names)
        except Exception as error:
            return names, error
        finally:
            torch.set_grad_enabled(True)
    return names, None


def value_of(expression, names):
    expression = re.sub(r"\.(\d+)\b", r"[\1]", expression)  # as a state dict spells it
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # reading the gradient of an intermediate value warns
        return eval(expression, names)


@pytest.mark.parametrize("name", CASES)
def test_the_symptom(name):
    cause, expression, text = CASES[name]
    if cause in ("retraced", "graph-break"):
        pytest.skip("PyTorch would call a compiler of C++")
    names, error = run(text)
    if expression is None:
        assert error is not None
        return
    if name in FAILING:
        assert isinstance(error, RuntimeError)
        return
    assert error is None, error
    if not expression or " --question " in expression:
        return  # no value shows the symptom
    try:
        value = value_of(expression, names)
    except NameError:
        pytest.skip("the variable is a function's")
    except AttributeError:  # a Python number has no gradient either
        value = None
    if isinstance(value, float):  # a Python number has no gradient either
        value = None
    if name in PARTLY:
        assert value is not None
    elif cause in MISSING and name not in ZEROED:
        assert value is None
    elif cause in ZERO or name in ZEROED:
        assert value.abs().max() < 1e-6
    elif cause.startswith("nan-"):
        assert not bool(torch.isfinite(value).all())
    elif cause == "exploded":
        assert value.abs().max() > 1e3
    else:
        assert cause == "none"
        grads = (
            [p.grad for p in value.parameters()] if isinstance(value, torch.nn.Module) else [value]
        )
        assert all(g is not None and bool(torch.isfinite(g).all()) and bool(g.any()) for g in grads)
