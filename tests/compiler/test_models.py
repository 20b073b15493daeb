"""The models of `benchmarks/training_models.py`: whole steps compiled give eager's losses, and call
next to nothing from Python; and the steps of `benchmarks/talking_models.py`, which are compiled
around the lines that stay Python's.
"""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import pellucid as torch

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def benchmark(name):
    spec = importlib.util.spec_from_file_location(name, BENCHMARKS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


models, talking = benchmark("training_models"), benchmark("talking_models")
STEPS = 5
# What is still called: a decision by a mask's values, and running sums of exponentials (two in the
# gradient).
CALLED = {"translation": ["decide"], "ranking": ["logcumsumexp"] * 3}


def trained(make, compiled):
    torch.manual_seed(0)
    step, inputs = make(torch)
    run = torch.compile(step) if compiled else step
    losses = [run(*inputs).item() for _ in range(STEPS)]
    return losses, run


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True:UserWarning")
@pytest.mark.parametrize("name", models.MODELS)
def test_steps_of_a_model(name):
    make = models.MODELS[name]
    expected, _ = trained(make, False)
    losses, run = trained(make, True)
    # Adam divides by the size of gradients that are near zero, so that rounding grows: one bit of
    # one pixel changes the fifth loss of group_resnet by 1e-4 of it in eager execution.
    np.testing.assert_allclose(losses[:3], expected[:3], rtol=2e-4, atol=2e-5)
    np.testing.assert_allclose(losses, expected, rtol=1e-3, atol=2e-5)
    (version,) = run.versions
    assert version.hits == STEPS - 1
    called = [
        i.op for item in version.code.run.items if item.kind == "eager" for i in item.instructions
    ]
    assert called == CALLED.get(name, [])


# How many parts there are, and how many of their calls run as programs from the fourth call on.
PARTS = {
    "print_at_the_end": 1,
    "print_before_backward": 2,
    "print_now_and_then": 1,
    "logging_meters": 1,
    "gan": 1,
    "ppo": 2,
    "plateau": 1,
    "batches_of_an_iterator": 1,
    "epoch": 10,
    "sharpness_aware": 1,
}


@pytest.mark.filterwarnings("ignore::pellucid.compiler.CompileWarning")
@pytest.mark.parametrize("name", talking.MODELS)
def test_steps_that_talk(name):
    results = []
    for compiled in (False, True):
        torch.manual_seed(0)
        step, inputs = talking.MODELS[name](torch)
        run = torch.compile(step) if compiled else step
        results.append([float(run(*inputs)) for _ in range(10)])
    np.testing.assert_allclose(results[1], results[0], rtol=2e-4, atol=2e-5)
    parts = list(run.graph_breaks.made.values()) if run.graph_breaks is not None else []
    count = lambda: sum(v.hits for part in [run, *parts] for v in part.versions)
    before = count()
    run(*inputs)
    assert count() - before >= PARTS[name], run.history
