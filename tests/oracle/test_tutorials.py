"""The tutorials on PyTorch: one import line changed, every claim holds there too."""

import importlib.util
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

ROOT = Path(__file__).resolve().parents[2]


def load_tool(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / "docs" / f"{name}.py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tool = load_tool("notebooks")


# those that PyTorch's compiler gives about PyTorch's own parts
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", sorted(tool.TUTORIALS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_runs_on_pytorch(path):
    notebook = tool.Notebook(path, "torch")
    notebook.run()
    assert notebook.scope["torch"] is torch
    shared = [
        cell for cell in notebook.cells if "exercise" in cell.tags and "pellucid" not in cell.tags
    ]
    assert notebook.run_exercises() == len(shared)
