"""The comparison of public names, on two small packages made here, and the document that it writes."""

import importlib.util
import sys
import types
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location(
        "missing_names", ROOT / "tools" / "missing_names.py"
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules["missing_names"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["missing_names"]


def package(name, **names):
    module = types.ModuleType(name)
    vars(module).update(names)
    return module


def test_only_a_namespace_s_own_names_count(tool):
    inner = package("big.nn.inner")
    space = package(
        "big.nn", __all__=["Linear"], Linear=int, partial=len, _hidden=1, math=types, inner=inner
    )
    assert tool.public_names(space, "big") == ["Linear", "inner"]
    root = package("big", add=len, _C=1, math=types, nn=space)
    space.__name__ = "big.nn"
    assert tool.public_names(root, "big") == ["add", "nn"]


def test_missing_names_are_grouped_by_reason(tool, monkeypatch):
    theirs = package(
        "big", add=1, q_scale=1, cudnn_convolution=1, some_new_function=1, ScriptModule=1
    )
    ours = package("small", add=1)
    monkeypatch.setattr(tool, "NAMESPACES", ("torch",))
    rows = list(tool.compare(theirs, ours))
    assert rows == [
        ("torch", 5, ["ScriptModule", "cudnn_convolution", "q_scale", "some_new_function"])
    ]
    text = tool.document(rows)
    assert "| `torch` | 5 | 1 | 4 |" in text
    assert "| quantized tensors and their operations | 1 | `q_scale` |" in text
    assert f"| {tool.OTHER} | 1 | `some_new_function` |" in text


def test_a_namespace_that_is_not_there_misses_everything(tool, monkeypatch):
    theirs = package("big", fft=package("big.fft", __all__=["rfft"], rfft=1))
    monkeypatch.setattr(tool, "NAMESPACES", ("torch.fft",))
    assert list(tool.compare(theirs, package("small"))) == [("torch.fft", 1, ["rfft"])]


def test_the_document_names_the_tool_that_wrote_it():
    assert "`tools/missing_names.py`" in (ROOT / "docs" / "missing.md").read_text(encoding="utf-8")
