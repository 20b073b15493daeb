"""The test cases that the `onnx` package has for every operator, run by `onnx.load`."""

import io
import warnings

import numpy as np
import pytest

import pellucid as torch
from pellucid.core.tensor import make_tensor

onnx = pytest.importorskip("onnx")

# Numbers drawn at random, which no other implementation draws; and corners that onnxruntime also
# aligns by whole sizes.
DIFFERENT = (
    "test_bernoulli",
    "test_training_dropout",
    "test_resize_downsample_scales_linear_align",
    "test_resize_downsample_scales_cubic_align",
)


def value(x):
    if isinstance(x, list):
        return [value(part) for part in x]
    if x is None:
        return None
    array = np.asarray(onnx.numpy_helper.to_array(x) if hasattr(x, "SerializeToString") else x)
    return array if array.dtype.kind in "OU" else make_tensor(array)


def compare(got, wanted, rtol, atol):
    if isinstance(wanted, list):
        assert len(got) == len(wanted)
        for g, w in zip(got, wanted, strict=True):
            compare(g, w, rtol, atol)
        return
    if wanted is None:
        assert got is None
        return
    want = value(wanted)._array
    array = got._array
    assert (array.dtype, array.shape) == (want.dtype, want.shape)
    if want.dtype.kind in "iub":
        assert np.array_equal(array, want)
        return
    rtol = max(rtol, {"bfloat16": 2e-2, "float16": 4e-3}.get(want.dtype.name, 1e-3))
    wide = want.dtype if want.dtype.kind == "c" else np.float64
    np.testing.assert_allclose(array.astype(wide), want.astype(wide), rtol, max(atol, 1e-6))


def run(case):
    model = torch.onnx.load(io.BytesIO(case.model.SerializeToString()))
    for inputs, outputs in case.data_sets:
        with torch.no_grad():
            got = model(*[value(x) for x in inputs])
        got = got if len(model.output_names) > 1 else (got,)
        for g, w in zip(got, outputs, strict=True):
            compare(g, w, case.rtol, case.atol)


def test_every_case_gives_the_result_or_is_refused():
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the reference computations of the cases
        cases = collect_testcases(None)
    passed, refused, wrong = [], {}, {}
    for case in cases:
        try:
            run(case)
            passed.append(case.name)
        except (NotImplementedError, torch.onnx.UnsupportedOperatorError) as error:
            refused[case.name] = str(error).splitlines()[0]
        except Exception as error:
            wrong[case.name] = f"{type(error).__name__}: {error}"
    print(f"{len(passed)} of {len(cases)} cases, {len(refused)} refused, {len(wrong)} different")
    assert {name: why for name, why in wrong.items() if not name.startswith(DIFFERENT)} == {}
    assert len(passed) >= 1650 or len(cases) < 1884
