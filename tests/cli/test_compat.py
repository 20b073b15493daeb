"""What `pellucid compat` says of a script that it does not run."""

import concurrent.futures
import contextlib
import io
import json
import multiprocessing
from pathlib import Path

import pytest

from pellucid import cli

ROOT = Path(__file__).resolve().parents[2]


def called(arguments):
    """(exit status, output, errors) of a command."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = cli.main(arguments)
    return status, out.getvalue(), err.getvalue()


@pytest.fixture(scope="module")
def command():
    """Calls in a process of their own: the command puts Pellucid in PyTorch's place for good."""
    with concurrent.futures.ProcessPoolExecutor(
        1, mp_context=multiprocessing.get_context("spawn")
    ) as pool:
        yield lambda *arguments: pool.submit(called, ["compat", *map(str, arguments)]).result()


def problems(tmp_path, command, text, *options, name="train.py"):
    path = tmp_path / name
    path.write_text(text)
    status, out, _ = command("--format", "json", *options, path)
    found = json.loads(out)
    assert status == bool(found["problems"])
    return [(p["line"], p["name"]) for p in found["problems"]], found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import torch\ntorch.nn.Linaer(3, 2)\n", [(2, "torch.nn.Linaer")]),
        ("from torch import nn\nx = nn.Linear\ny = nn.Linaer\n", [(3, "torch.nn.Linaer")]),
        ("import torch.nn.functional as G\nG.reluu(1)\n", [(2, "torch.nn.functional.reluu")]),
        ("from torch.nope import thing\n", [(1, "torch.nope")]),
        ("from torch.nn import Linear, Lineal\n", [(1, "torch.nn.Lineal")]),
        (
            "import torch\ntorch.optim.Adam([], learning_rate=1)\n",
            [(2, "torch.optim.Adam(learning_rate=)")],
        ),
        ("import torch\nx = torch.ones(2).cuda()\n", [(2, "cuda")]),
        ("import torch\nx = torch.ones(2, device='cuda:0')\n", [(2, "cuda")]),
        ("import torch\nm.to('cuda')\nd = torch.device('cuda')\n", [(2, "cuda"), (3, "cuda")]),
        # What asks first, and what is not PyTorch's, is left alone.
        ("import torch\nif torch.cuda.is_available():\n    m.cuda()\n", []),
        ("import torch\nd = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n", []),
        ("import torch\nif hasattr(torch, 'nope'):\n    torch.nope()\n", []),
        ("try:\n    from torch import nope\nexcept ImportError:\n    nope = None\n", []),
        ("import torch\nx = torch.float32.itemsize\ny = torch.ops.aten.add\n", []),
        ("import numpy as torch\ntorch.nope\n", []),
        ("import pellucid as torch\ntorch.nope\n", [(2, "torch.nope")]),
        ("import pellucid.nn as nn\nnn.Nope\n", [(2, "torch.nn.Nope")]),
        ("from pellucid.nn import Nope\n", [(1, "torch.nn.Nope")]),
        ("import pellucid\nfrom pellucid import check, debug\ndebug.draw\npellucid.explain\n", []),
        ("import torch\ndef f(torch):\n    return torch.nope\n", []),
        ("x = 1\n", []),
        ("", []),
    ],
)
def test_what_is_found(tmp_path, command, text, expected):
    assert problems(tmp_path, command, text)[0] == expected


def test_the_script_is_not_run(tmp_path, command):
    assert problems(tmp_path, command, "import torch\nraise SystemExit(7)\n")[0] == []


def test_modules_beside_the_script_are_followed(tmp_path, command):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "__init__.py").write_text("from .model import Net\n")
    (tmp_path / "lib" / "model.py").write_text(
        "import torch\nfrom . import __init__\nNet = torch.nn.Nett\n"
    )
    found, whole = problems(tmp_path, command, "import lib\nfrom nowhere_to_be_found import x\n")
    assert found == [(3, "torch.nn.Nett")]
    assert len(whole["files"]) == 3 and whole["not_installed"] == ["nowhere_to_be_found"]


def test_a_notebook_names_the_cell(tmp_path, command):
    cells = [
        {"cell_type": "code", "source": ["%matplotlib inline\n", "import torch\n"]},
        {"cell_type": "code", "source": ["torch.nn.Lin"]},
    ]
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps({"cells": cells}))
    status, out, _ = command(path)
    assert status == 1 and "a.ipynb: cell 2, line 1: torch.nn.Lin is not supported" in out


def test_what_cannot_be_read(tmp_path, command):
    (tmp_path / "a.py").write_text("def f(:\n")
    for name in ("a.py", "missing.py"):
        status, _, err = command(tmp_path / name)
        assert status == 2 and "cannot be read" in err
    (tmp_path / "train.py").write_text("")
    assert "did you mean" in (err := command(tmp_path / "trian.py")[2]) and "/train.py?" in err


@pytest.mark.parametrize(
    "path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name
)
def test_the_examples_are_supported(path, command):
    status, out, _ = command(path)
    assert status == 0 and "all supported" in out
