"""The models of `benchmarks/training_models.py`: whole steps compiled give eager's losses, and call next to nothing from Python."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import pellucid as torch

PATH = Path(__file__).resolve().parents[2] / "benchmarks" / "training_models.py"
_spec = importlib.util.spec_from_file_location("training_models", PATH)
models = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(models)
STEPS = 5
# What is still called: a decision by a mask's values, and running sums of exponentials.
CALLED = {"translation": ["decide"], "ranking": ["logcumsumexp", "logcumsumexp_vjp"]}


def trained(make, compiled):
    torch.manual_seed(0)
    step, inputs = make(torch)
    run = torch.compile(step) if compiled else step
    losses = [run(*inputs).item() for _ in range(STEPS)]
    return losses, run


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True:UserWarning")
@pytest.mark.parametrize("name", models.MODELS)
def test_steps_of_a_model(name):
    make = models.MODELS[name]
    expected, _ = trained(make, False)
    losses, run = trained(make, True)
    np.testing.assert_allclose(losses, expected, rtol=2e-4, atol=2e-5)
    (version,) = run.versions
    assert version.hits == STEPS - 1
    called = [i.op for item in version.run.items if item.kind == "eager" for i in item.instructions]
    assert called == CALLED.get(name, [])
