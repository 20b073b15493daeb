"""ONNX files by PyTorch's two exporters: the standard models give onnxruntime's results, train, and
are written again.
"""

import io
import logging

import pytest

import pellucid

torch = pytest.importorskip("torch")
runtime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")
pytest.importorskip("onnxscript")

from . import onnx_models as models  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")
WAYS = [("script", 9), ("script", 11), ("script", 17), ("dynamo", 18), ("dynamo", 23)]
NOT_WRITTEN = {"vit", "bert", "gpt2", "mixed"}  # by the older exporter before opset 14
# what depends on the image's size (padding by reflection, resizing) is written for one size
FIXED_SIZE = {"unet"}


def written(name, way, opset, path):
    model, args, others, axes = models.make(name)
    names = [f"x{k}" for k in range(len(args))]
    options = {"input_names": names, "opset_version": opset}
    logging.disable(logging.ERROR)
    try:
        with torch.no_grad():
            if way == "dynamo":
                shapes = tuple(dict.fromkeys(a, torch.export.Dim.DYNAMIC) for a in axes)
                torch.onnx.export(
                    model, args, path, dynamo=True, dynamic_shapes=shapes, verbose=False, **options
                )
            else:
                torch.onnx.export(
                    model,
                    args,
                    path,
                    dynamo=False,
                    dynamic_axes=dict(zip(names, axes, strict=True)),
                    **options,
                )
    finally:
        logging.disable(logging.NOTSET)
    return model, args, others, dict(zip(names, axes, strict=True))


def session(source):
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return runtime.InferenceSession(source, options)


def wanted(run, model, args):
    """onnxruntime's results; PyTorch's where onnxruntime has an operator that does not take the
    file's shapes.
    """
    try:
        return run.run(None, {f"x{k}": t.numpy() for k, t in enumerate(args)})
    except runtime.capi.onnxruntime_pybind11_state.Fail:
        with torch.no_grad():
            made = model(*args)
        return [t.numpy() for t in (made if isinstance(made, tuple) else (made,))]


@pytest.mark.parametrize(("way", "opset"), WAYS)
@pytest.mark.parametrize("name", models.CASES)
def test_models(name, way, opset, tmp_path):
    if name in NOT_WRITTEN and opset <= 11 or (name, opset) == ("manual attention", 9):
        pytest.skip("PyTorch does not write it for this opset")
    path = str(tmp_path / "model.onnx")
    model, args, others, axes = written(name, way, opset, path)
    run, made = session(path), pellucid.onnx.load(path)

    def compare(function, given):
        got = function(*[pellucid.from_numpy(t.numpy()) for t in given])
        got = got if isinstance(got, tuple) else (got,)
        for g, w in zip(got, wanted(run, model, given), strict=True):
            pellucid.testing.assert_close(g, pellucid.from_numpy(w), rtol=1e-4, atol=2e-5)
        return got

    got = compare(made, args)
    compare(made, others)
    sum(g.sum() for g in got if g.requires_grad).backward()
    assert [k for k, p in made.named_parameters() if p.grad is None] == []
    file = io.BytesIO()
    if name in FIXED_SIZE:
        axes = {"x0": {0: "n"}}
    inputs = tuple(pellucid.from_numpy(t.numpy()) for t in args)
    pellucid.onnx.export(made, inputs, file, input_names=list(axes), dynamic_axes=axes)
    again = session(file.getvalue())
    for given in (args, *(() if name in FIXED_SIZE else (others,))):
        compare(
            lambda *xs: tuple(
                map(
                    pellucid.from_numpy,
                    again.run(None, {f"x{k}": t.numpy() for k, t in enumerate(xs)}),
                )
            ),
            given,
        )
