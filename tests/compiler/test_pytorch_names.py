"""PyTorch's names around `torch.compile`: `torch._dynamo`, `torch._inductor`, `torch._logging`,
`torch.compiler`, backends.
"""

from __future__ import annotations

import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

import pellucid as torch
from pellucid import nn


@pytest.fixture(autouse=True)
def forget():
    yield
    torch.compiler.reset()
    torch._dynamo.config.reset()
    torch._inductor.config.reset()
    torch._logging.set_logs()


SCRIPT = """
import torch
import torch._dynamo
import torch._dynamo.config
import torch._inductor.config
import torch._inductor.config as inductor_config
from torch._dynamo import OptimizedModule, disable
from torch._dynamo.eval_frame import OptimizedModule as Same
from torch._dynamo.exc import Unsupported
from torch import _dynamo

torch._dynamo.config.suppress_errors = True
torch._dynamo.config.cache_size_limit = 64
torch._inductor.config.coordinate_descent_tuning = True
torch._inductor.config.triton.unique_kernel_names = True
inductor_config.fx_graph_cache = True
torch.set_float32_matmul_precision("high")
torch._logging.set_logs(recompiles=True)
torch._dynamo.reset()
model = torch.compile(torch.nn.Linear(2, 1), mode="max-autotune", fullgraph=True)
x = torch.ones(3, 2)
torch._dynamo.mark_dynamic(x, 0)
torch.compiler.cudagraph_mark_step_begin()
model(x)
assert isinstance(model, OptimizedModule) and OptimizedModule is Same and _dynamo is torch._dynamo
assert torch._dynamo.config.cache_size_limit == 64 and torch._dynamo.is_compiling() is False
print(list(model.state_dict()), model._orig_mod)
"""


def test_a_script_that_sets_all_there_is(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "pellucid", "script.py"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("['_orig_mod.weight', '_orig_mod.bias'] Linear(")
    assert done.stderr == "[recompiles] Linear was traced, because it was the first call\n"


# ---- settings --------------------------------------------------------------------------------------
@pytest.mark.parametrize("room", ["_dynamo", "_inductor"])
def test_settings_that_do_not_exist_are_refused(room):
    config = getattr(torch, room).config
    for attempt in (
        lambda: config.nope,
        lambda: setattr(config, "nope", 1),
        lambda: config.patch("nope", 1).__enter__(),
    ):
        with pytest.raises(AttributeError, match=rf"torch\.{room}\.config\.nope does not exist"):
            attempt()


def test_settings_are_patched_and_put_back():
    config = torch._inductor.config
    with config.patch({"triton.cudagraphs": True, "max_autotune": True}):
        assert config.triton.cudagraphs and config.get_config_copy()["max_autotune"]
    assert not config.triton.cudagraphs and not config.max_autotune

    @torch._dynamo.config.patch(verbose=True)
    def f():
        return torch._dynamo.config.verbose

    assert f() and not torch._dynamo.config.verbose


def test_the_limit_of_versions():
    torch._dynamo.config.recompile_limit = 2
    assert torch._dynamo.config.cache_size_limit == 2
    compiled = torch.compile(lambda x: x * 2)
    for n in range(1, 5):
        compiled(torch.ones(n))
    assert len(compiled.versions) == 2


def test_disable_and_errors_on_recompile():
    compiled = torch.compile(lambda x: x * 2)
    with torch._dynamo.config.patch(disable=True):
        assert compiled(torch.ones(2)).tolist() == [2, 2] and not compiled.versions
    compiled(torch.ones(2))
    with (
        torch._dynamo.config.patch(error_on_recompile=True),
        pytest.raises(RuntimeError, match="Detected recompile"),
    ):
        compiled(torch.ones(3))
    assert compiled(torch.ones(3)).tolist() == [2, 2, 2]


# ---- functions -------------------------------------------------------------------------------------
def test_explain_counts_programs_operations_and_reasons():
    def decides(x):
        return x * 2 if x.sum() > 0 else x

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole = torch._dynamo.explain(lambda x: (x * 2).sum())(torch.ones(2))
        split = torch._dynamo.explain(decides)(torch.ones(2))
        eager = torch._dynamo.explain(lambda x: x[x > 0])(torch.ones(2))
        module = torch._dynamo.explain(torch.compile(nn.Linear(2, 1)), torch.ones(1, 2))
    assert (whole.graph_count, whole.graph_break_count, whole.op_count, whole.break_reasons) == (
        1,
        0,
        2,
        [],
    )
    assert (split.graph_count, split.graph_break_count) == (
        1,
        1,
    ) and "decision" in split.break_reasons[0]
    assert (eager.graph_count, eager.graph_break_count, eager.op_count) == (0, 1, 0)
    assert "depends on values" in str(eager) and "Graph Break Count: 1" in str(eager)
    assert (
        module.graph_count == 1
        and "Linear" in module.text
        and module.html.startswith("<!doctype html>")
    )


def test_the_older_decorator_and_marks():
    d = torch._dynamo

    @d.optimize("inductor", nopython=True)
    def f(x):
        return x + 1

    @d.optimize("inductor", nopython=True)
    def broken(x):
        d.graph_break()
        return x + 1

    @torch.compile
    def parted(x):
        y = x * 2
        d.graph_break()
        return y + 1

    x = torch.ones(2)
    with pytest.raises(torch.compiler.CompileError, match="break of its graph"):
        broken(x)
    with pytest.warns(torch.compiler.CompileWarning, match="break of its graph"):
        assert [parted(x).tolist() for _ in range(4)] == [[3, 3]] * 4
    assert [sum(v.hits for v in part.versions) for part in parted.graph_breaks.made.values()] == [
        2,
        2,
    ]
    assert d.explain(parted)(x).graph_count == 2
    for mark in (
        lambda: d.mark_dynamic(x, 0, min=1),
        lambda: d.maybe_mark_dynamic(x, 0),
        lambda: d.mark_static(x),
        lambda: d.mark_static_address(x),
    ):
        mark()
    assert f(x).tolist() == [2, 2] and len(f.versions) == 1
    assert d.optimize_assert()(abs).fullgraph and d.run(abs) is abs and d.run()(abs) is abs
    assert d.disallow_in_graph(abs)(-1) == 1


def test_logs_tell_why_something_is_traced_again_and_what_runs_eagerly(capsys):
    torch._logging.set_logs(recompiles=True, graph_breaks=True, dynamo=40, output_code=True)
    compiled = torch.compile(lambda x: x * 2)
    compiled(torch.ones(2))
    compiled(torch.ones(3))
    with pytest.warns(torch.compiler.CompileWarning):
        torch.compile(lambda x: x[x > 0])(torch.ones(2))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert "because it was the first call" in lines[0] and "shape" in lines[1]
    assert lines[2].startswith("[graph_breaks]") and "depends on values" in lines[2]
    torch._logging.set_logs()
    compiled(torch.ones(4))
    assert capsys.readouterr().err == ""
    with pytest.raises(TypeError, match="unexpected keyword argument 'nope'"):
        torch._logging.set_logs(nope=True)


def test_compiler_functions_that_do_nothing_here():
    c = torch.compiler
    assert c.save_cache_artifacts() is None and c.load_cache_artifacts(b"") is None
    assert c.nested_compile_region(abs) is abs and c.nested_compile_region()(abs) is abs
    assert c.substitute_in_graph(sum)(abs) is abs
    made = c.wrap_numpy(lambda a, scale: {"twice": a * scale, "sum": float(a.sum())})(
        torch.ones(2), scale=np.float32(2)
    )
    assert made["twice"].tolist() == [2, 2] and made["sum"] == 2


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_backends_that_compile_nothing_wrap_modules_all_the_same(backend):
    module = nn.Linear(2, 1)
    wrapped = torch.compile(module, backend=backend)
    assert isinstance(wrapped, torch._dynamo.OptimizedModule) and list(wrapped.state_dict()) == [
        "_orig_mod.weight",
        "_orig_mod.bias",
    ]
    assert torch.equal(wrapped(torch.ones(1, 2)), module(torch.ones(1, 2)))
    assert torch.compile(abs, backend=backend) is abs


def test_switches_of_backends_that_scripts_set():
    b = torch.backends
    b.mkldnn.enabled = True
    b.cuda.matmul.fp32_precision = "tf32"
    b.fp32_precision = "ieee"
    with pytest.warns(FutureWarning, match="sdpa_kernel"), b.cuda.sdp_kernel(enable_flash=False):
        assert not b.cuda.flash_sdp_enabled() and b.cuda.math_sdp_enabled()
    assert b.cuda.flash_sdp_enabled()
