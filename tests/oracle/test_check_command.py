"""`pellucid check --engine torch` as a command, beside the same on Pellucid."""

import json
import subprocess
import sys
import textwrap

import pytest

torch = pytest.importorskip("torch")

SCRIPT = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

print("running on", "pellucid" if "pellucid" in torch.__version__ else "torch")
torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.randn(24, 3), torch.randn(24)), batch_size=8, shuffle=True, num_workers=2)
model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(2):
    for x, y in loader:
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
with torch.no_grad():
    print("validation", nn.functional.l1_loss(model(torch.randn(8, 3)).squeeze(1), torch.randn(8)).item() > 0)
"""


def check(script, engine):
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "pellucid",
        "check",
        "--format",
        "json",
        "--engine",
        engine,
        str(script),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1 and done.stderr == "", done.stderr
    *printed, last = done.stdout.splitlines()
    return printed, json.loads(last)["findings"]


def test_the_same_findings_on_both_engines(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(textwrap.dedent(SCRIPT))
    (said, found), (said_torch, found_torch) = check(script, "pellucid"), check(script, "torch")
    assert said == ["running on pellucid", "validation True"] and said_torch == [
        "running on torch",
        "validation True",
    ]
    assert [f["name"] for f in found] == [
        "loss-shape-mismatch",
        "missing-zero-grad",
        "eval-in-train-mode",
    ]
    assert [f["line"] for f in found] == [13, 14, 17]
    for ours, theirs in zip(found, found_torch, strict=True):
        numbers = [(f["evidence"].pop("gradient_norm", 0), f["evidence"]) for f in (ours, theirs)]
        assert numbers[0][0] == pytest.approx(numbers[1][0], rel=1e-4)
        assert ours == theirs


def test_findings_do_not_change_what_pytorch_prints(tmp_path):
    """The examples' own numbers are compared elsewhere; here, that watching draws no random numbers
    and changes none.
    """
    script = tmp_path / "train.py"
    script.write_text(
        textwrap.dedent(SCRIPT)
        .replace('print("running on"', '_ = ("running on"')
        .replace(".item() > 0", ".item()")
    )
    plain = subprocess.run(
        [sys.executable, "-W", "ignore", str(script)], capture_output=True, text=True, timeout=300
    ).stdout
    assert plain.startswith(("validation 0.", "validation 1."))
    assert "\n".join(check(script, "torch")[0]) + "\n" == plain


FAILING = """
import torch
import torch.nn.functional as F

def train():
    model = torch.nn.Linear(3, 4)
    return F.cross_entropy(model(torch.zeros(2, 3)), torch.tensor([0, 9]))

try:
    train()
except IndexError:
    torch.nn.Linear(3, 4)(torch.zeros(2, 5))
"""


@pytest.mark.parametrize("engine", ["pellucid", "torch"])
def test_tracebacks_are_those_of_the_script(tmp_path, engine):
    script = tmp_path / "train.py"
    script.write_text(FAILING)
    plain = [
        sys.executable,
        *(["-m", "pellucid", "run"] if engine == "pellucid" else []),
        str(script),
    ]
    watched = [
        sys.executable,
        "-m",
        "pellucid",
        "check",
        "--select",
        "PL3",
        "--engine",
        engine,
        str(script),
    ]
    before, after = (
        subprocess.run(command, capture_output=True, text=True, timeout=300)
        for command in (plain, watched)
    )
    assert before.returncode == after.returncode == 1
    # Errors of Pellucid name the user's line, the engine's own frames below it may be others.
    shown = [
        [line for line in done.stderr.splitlines() if "train.py" in line or "Error" in line]
        for done in (before, after)
    ]
    assert shown[0] == shown[1] and "pellucid/check/" not in after.stderr
    if engine == "torch":
        assert after.stderr.startswith(before.stderr)


WARNING = """
import copy
import warnings
import torch
import torch.nn.functional as F

def mine():
    warnings.warn("mine", stacklevel=2)

a, b = torch.zeros(3, 1), torch.zeros(3)
for _ in range(2):
    F.mse_loss(a, b)
    mine()
torch.nn.L1Loss()(a, b)
(a.requires_grad_() * 2).grad
copy.deepcopy([warnings.warn, warnings.showwarning])
"""


@pytest.mark.parametrize("engine", ["pellucid", "torch"])
def test_warnings_keep_their_lines(tmp_path, engine):
    script = tmp_path / "train.py"
    script.write_text(WARNING)
    plain = [
        sys.executable,
        *(["-m", "pellucid", "run"] if engine == "pellucid" else []),
        str(script),
    ]
    watched = [
        sys.executable,
        "-m",
        "pellucid",
        "check",
        "--select",
        "PL3",
        "--engine",
        engine,
        str(script),
    ]
    before, after = (
        subprocess.run(command, capture_output=True, text=True, timeout=300)
        for command in (plain, watched)
    )
    assert before.returncode == after.returncode == 0
    assert before.stderr.count("Warning: ") >= 3 and after.stderr.startswith(before.stderr)


TRACED = """
import torch
from torch import nn

model = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
x = torch.ones(1, 3)
scripted, traced = torch.jit.script(model), torch.jit.trace(model, x)
program = torch.export.export(model, (x,))
graph = torch.fx.symbolic_trace(model)
outs = [scripted(x), traced(x), program.module()(x), graph(x)]
print([torch.equal(out, outs[0]) for out in outs])
print((torch.zeros(3, 1) - torch.zeros(3)).shape)
"""


def test_tracers_are_left_alone(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(TRACED)
    printed, found = check(script, "torch")
    assert printed == ["[True, True, True, True]", "torch.Size([3, 3])"]
    assert [f["name"] for f in found] == ["mutual-broadcast"]
