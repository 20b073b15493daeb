"""torch.jit: scripted and traced functions and modules run as Python and show TorchScript's face."""

import copy
import io
import pickle
import warnings
from typing import Optional

import pytest

import pellucid as torch
from pellucid import jit, nn


def double(x, factor: float = 2.0):
    return x * factor


scripted_double = jit.script(double)


@jit.script
def halved(x):
    return x / 2


def test_a_scripted_function():
    assert isinstance(scripted_double, jit.ScriptFunction) and torch.equal(
        scripted_double(torch.ones(2)), torch.full((2,), 2.0)
    )
    assert scripted_double.name == "double" and "x * factor" in scripted_double.code
    assert jit.script(scripted_double) is scripted_double
    with pytest.raises(NotImplementedError, match="TorchScript graphs"):
        _ = scripted_double.graph
    with pytest.raises(RuntimeError, match="Expected a function"):
        jit.script(3)


def test_a_scripted_module_shares_the_state():
    model = nn.Sequential(nn.Linear(2, 3), nn.Dropout())
    made = jit.script(model)
    assert isinstance(made, jit.ScriptModule) and all(
        isinstance(child, jit.ScriptModule) for child in made.children()
    )
    assert not isinstance(model[0], jit.ScriptModule)
    assert list(made.state_dict()) == list(model.state_dict()) and made[0].weight is model[0].weight
    made.eval()
    assert model.training and torch.equal(made(torch.ones(1, 2)), model[0](torch.ones(1, 2)))
    assert (
        repr(made[0]) == "RecursiveScriptModule(original_name=Linear)"
        and made.original_name == "Sequential"
    )
    assert jit.script(made) is made
    other = copy.deepcopy(made)
    assert other[0].weight is not made[0].weight and torch.equal(other[0].weight, made[0].weight)


def test_saved_and_loaded(tmp_path):
    made = jit.script(nn.Sequential(nn.Linear(2, 3), nn.ReLU()))
    made.save(tmp_path / "m.pt")
    extra = {"note": ""}
    buffer = io.BytesIO()
    jit.save(made, buffer, _extra_files={"note": "mine"})
    buffer.seek(0)
    for loaded in (jit.load(tmp_path / "m.pt"), jit.load(buffer, _extra_files=extra)):
        assert isinstance(loaded, jit.ScriptModule) and torch.equal(
            loaded(torch.ones(1, 2)), made(torch.ones(1, 2))
        )
    assert extra["note"] == b"mine"
    with pytest.raises(ValueError, match="The provided filename .* does not exist"):
        jit.load(tmp_path / "none.pt")
    torch.save({"a": 1}, tmp_path / "other.pt")
    with pytest.raises(RuntimeError, match="failed locating file constants.pkl: file not found"):
        jit.load(tmp_path / "other.pt")
    assert pickle.loads(pickle.dumps(halved)) is halved


def test_traced():
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    made = jit.trace(model, torch.ones(1, 2))
    assert isinstance(made, jit.TopLevelTracedModule) and list(made.state_dict()) == list(
        model.state_dict()
    )
    assert torch.equal(made(torch.ones(4, 2)), model(torch.ones(4, 2)))
    assert isinstance(jit.trace(double, torch.ones(2)), jit.ScriptFunction)
    seen = []
    jit.trace(lambda x: (seen.append(jit.is_tracing()), x + 1)[1], torch.ones(1))
    assert seen == [True, True] and not jit.is_tracing()
    with pytest.warns(
        jit.TracerWarning, match="does not match the corresponding output of the Python function"
    ):
        jit.trace(lambda x: x + torch.rand(2), torch.ones(2))
    with pytest.raises(RuntimeError, match="Only tensors"):
        jit.trace(lambda x: 3, torch.ones(2))
    with pytest.raises(RuntimeError, match="dict at the output of the tracer"):
        jit.trace(lambda x: {"a": x}, torch.ones(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error", jit.TracerWarning)
        jit.trace(lambda x: {"a": x}, torch.ones(2), strict=False)


def test_frozen():
    made = jit.script(nn.Linear(2, 3))
    with pytest.raises(RuntimeError, match="eval mode"):
        jit.freeze(made)
    with pytest.raises(RuntimeError, match="expects a ScriptModule"):
        jit.freeze(nn.Linear(2, 3))
    frozen = jit.freeze(made.eval())
    assert not list(frozen.parameters()) and torch.equal(
        frozen(torch.ones(1, 2)), made(torch.ones(1, 2))
    )
    assert jit.optimize_for_inference(frozen) is frozen


def test_types_and_the_rest():
    assert (
        jit.isinstance([1], list[int])
        and not jit.isinstance(["a"], list[int])
        and jit.isinstance(None, Optional[int])  # noqa: UP045
    )
    assert jit.isinstance({"a": (1, 2.0)}, dict[str, tuple[int, float]]) and not jit.isinstance(
        1, (str, list)
    )
    assert jit.script_if_tracing(double)(torch.ones(1)).item() == 2
    with pytest.raises(NotImplementedError, match="CompilationUnit"):
        jit.CompilationUnit("def f(x): return x")


def test_futures():
    futures = torch.futures
    first, second = futures.Future(), futures.Future()
    failed = first.then(lambda done: 1 / done.value())
    both = futures.collect_all([first, second])
    with pytest.raises(RuntimeError):
        first.value()
    first.set_result(0)
    second.set_exception(KeyError("x"))
    assert both.done() and failed.done()
    with pytest.raises(RuntimeError, match="running the callback: ZeroDivisionError: division"):
        failed.wait()
    with pytest.raises(KeyError):
        futures.wait_all([first, second])
    with pytest.raises(RuntimeError, match="can only be marked"):
        first.set_result(1)


def _warned(function):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        function()
    return found


def test_what_is_deprecated_says_so_at_a_line_of_the_library():
    (found,) = _warned(lambda: torch.jit.script(torch.nn.ReLU()))
    text = "`torch.jit.script` is deprecated. Please switch to `torch.compile` or `torch.export`."
    assert (found.category, str(found.message)) == (DeprecationWarning, text)
    assert found.filename != __file__


def test_a_trace_warns_where_values_leave_the_tensors():
    def branches(x):
        if x.sum() > 0:
            return x * float(x[0])
        return x

    found = _warned(lambda: torch.jit.trace(branches, torch.ones(2), check_trace=False))
    traced = [w for w in found if w.category is torch.jit.TracerWarning]
    assert [str(w.message).split(" might")[0] for w in traced] == [
        "Converting a tensor to a Python boolean",
        "Converting a tensor to a Python float",
    ]
    assert {w.filename for w in traced} == {__file__}


def test_what_needs_torchscript_graphs_or_libraries_of_native_code_says_so():
    with pytest.raises(NotImplementedError, match="TorchScript graphs"):
        torch.jit.script(lambda x: x).graph
    for name in ("aot_compile", "aoti_compile_and_package", "aoti_load_package"):
        refuse = getattr(torch._inductor, name)
        with pytest.raises(
            NotImplementedError, match=rf"torch\._inductor\.{name} is not supported"
        ):
            refuse("model.pt2")


def test_a_device_with_a_number_and_none():
    assert torch.device("cpu", None) == torch.device("cpu")
    with pytest.raises(RuntimeError, match="index was passed explicitly: cpu:0"):
        torch.device("cpu:0", None)
