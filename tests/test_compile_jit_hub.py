"""torch.compile, torch.jit and torch.hub: what scripts may keep, and clear words where they may
not.
"""

import pytest

import pellucid as torch
from pellucid.errors import full_text


@pytest.fixture(autouse=True)
def forget():
    torch.compiler.reset()
    yield
    torch.compiler.reset()


def test_a_compiled_function():
    @torch.compile(fullgraph=True, dynamic=True, backend="inductor", options={"a": 1})
    def f(x, *, twice=False):
        "Doc."
        return x * (2 if twice else 1)

    x = torch.ones(2, requires_grad=True)
    f(x, twice=True).sum().backward()
    assert x.grad.tolist() == [2, 2] and f.__name__ == "f" and f.__doc__ == "Doc."
    assert torch.compile(len, disable=True) is len


def test_a_compiled_module():
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Dropout())
    model.note = "mine"
    compiled = torch.compile(model, mode="max-autotune")
    x = torch.ones(4, 2)
    compiled.eval()
    assert not model.training and torch.equal(compiled(x), model(x))
    assert list(compiled.state_dict()) == ["_orig_mod.0.weight", "_orig_mod.0.bias"]
    assert compiled._orig_mod is model and compiled.note == "mine" and len(compiled) == 2
    assert [id(p) for p in compiled.parameters()] == [id(p) for p in model.parameters()]
    with pytest.raises(AttributeError, match="absent"):
        compiled.absent


def test_compile_checks_its_options():
    with pytest.raises(RuntimeError, match="Either mode or options can be specified"):
        torch.compile(abs, mode="default", options={})
    with pytest.raises(
        RuntimeError,
        match="Unrecognized mode=fast, should be one of: default, lite, reduce-overhead",
    ):
        torch.compile(abs, mode="fast")
    with pytest.raises(AssertionError, match="A callable function is expected, but <class 'int'>"):
        torch.compile(3)


def test_compiler():
    def f():
        return 1

    c = torch.compiler
    assert not c.is_compiling() and not c.is_dynamo_compiling() and not c.is_exporting()
    assert (
        c.disable(f)() == 1
        and c.disable(recursive=False)(f)() == 1
        and c.allow_in_graph(f) is f
        and c.assume_constant_result(f) is f
    )
    c.set_default_backend("eager")
    assert (
        c.get_default_backend() == "eager"
        and {"eager", "inductor"} <= {*c.list_backends()}
        and torch.compile(f) is f
    )
    with pytest.raises(RuntimeError, match="Invalid backend: 'nvfuser'"):
        torch.compile(f, backend="nvfuser")
    with c.set_stance("force_eager"):
        assert c.set_stance("default")(f)() == 1
    with pytest.raises(RuntimeError, match="invalid torch.compile stance 'calm'"):
        c.set_stance("calm")


def test_marks_for_torchscript_leave_functions_alone():
    def f():
        return 1

    jit = torch.jit
    assert all(
        mark(f) is f
        for mark in (
            jit.ignore,
            jit.ignore(drop=True),
            jit.unused,
            jit.export,
            jit.interface,
            jit.script_method,
        )
    )
    assert not jit.is_scripting() and not jit.is_tracing()
    assert (
        jit.annotate(list[int], [1]) == [1]
        and jit.isinstance([1], list[int])
        and not jit.isinstance(1, (str, list))
    )
    assert not isinstance(torch.nn.Linear(1, 1), (jit.ScriptModule, jit.ScriptFunction))
    assert jit.wait(jit.fork(lambda x, y: x - y, 5, y=2)) == 3
    with jit.optimized_execution(False), jit.strict_fusion():
        assert jit.Attribute(1, int).value == 1


def test_hub_does_not_download(tmp_path, monkeypatch):
    hub = torch.hub
    with pytest.raises(
        NotImplementedError, match=r"torch.hub.load is not supported for source='github'"
    ):
        hub.load("pytorch/vision", "resnet18")
    with pytest.raises(NotImplementedError, match="nothing is downloaded"):
        hub.download_url_to_file("https://example.org/a.pt", "a.pt")
    with pytest.raises(
        ValueError, match='Unknown source: "ftp". Allowed values: "github" | "local".'
    ):
        hub.list("x", source="ftp")


def test_hub_finds_what_is_there(tmp_path, monkeypatch):
    hub = torch.hub
    monkeypatch.setattr(hub, "_chosen", None)
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "home"))
    assert hub.get_dir() == str(tmp_path / "home" / "hub")
    hub.set_dir(tmp_path)
    with pytest.raises(NotImplementedError, match="files that are not there yet") as caught:
        hub.load_state_dict_from_url("https://example.org/w/a.pt?x=1")
    assert str(tmp_path / "checkpoints" / "a.pt") in full_text(caught.value)
    (tmp_path / "checkpoints").mkdir()
    torch.save({"w": torch.ones(2)}, tmp_path / "checkpoints" / "a.pt")
    assert hub.load_state_dict_from_url("https://example.org/w/a.pt?x=1")["w"].tolist() == [1, 1]


def test_hub_loads_from_a_folder(tmp_path):
    (tmp_path / "helper.py").write_text("SIZE = 3\n")
    (tmp_path / "hubconf.py").write_text(
        "dependencies = ['numpy']\nfrom helper import SIZE\n\ndef small(scale=1):\n    'A number.'\n    return SIZE * scale\n"
    )
    hub = torch.hub
    assert hub.load(tmp_path, "small", source="local", scale=2) == 6
    assert (
        hub.list(tmp_path, source="local") == ["small"]
        and hub.help(tmp_path, "small", source="local") == "A number."
    )
    with pytest.raises(RuntimeError, match="Cannot find callable big in hubconf"):
        hub.load(tmp_path, "big", source="local")
    (tmp_path / "hubconf.py").write_text("dependencies = ['not_there_at_all']\n")
    with pytest.raises(RuntimeError, match="Missing dependencies: not_there_at_all"):
        hub.list(tmp_path, source="local")
    with pytest.raises(
        FileNotFoundError, match=r"\[Errno 2\] No such file or directory: .*hubconf.py"
    ):
        hub.load(tmp_path / "none", "x", source="local")
