"""What a fresh process does not compile."""

import os
import subprocess
import sys

import pytest

from pellucid.arrays import native
from pellucid.llvm import target

pytestmark = pytest.mark.skipif(not target.available(), reason="no compiler")


SPARED = """
import numpy as np
import pellucid as torch
from pellucid.llvm import jit
compiled = []
real = jit.compile_source
def note(build, exports, name, *files):
    compiled.append(name)
    return real(build, exports, name, *files)
jit.compile_source = note
p = torch.nn.Parameter(torch.linspace(-2, 2, 10000))
twin = torch.nn.Parameter(p.detach().clone())
x = torch.linspace(-3, 3, 10000)
def step_of(p, optimizer):
    def step():
        optimizer.zero_grad()
        loss = (torch.sigmoid(x * p) * torch.relu(p)).sum()
        loss.backward()
        optimizer.step()
        return loss
    return step
traced = torch.compile(step_of(p, torch.optim.Adam([p], 0.1)))
losses = [traced().item()]
print(sorted(name for name in compiled if "adam" in name or "relu" in name or "sigmoid" in name))
losses += [traced().item() for _ in range(2)]
eager = step_of(twin, torch.optim.Adam([twin], 0.1))
np.testing.assert_allclose(losses, [eager().item() for _ in range(3)], rtol=1e-5)
np.testing.assert_allclose(p.detach().numpy(), twin.detach().numpy(), rtol=1e-4, atol=1e-5)
print(sorted(name.split()[0] for name in compiled if "adam" in name or "relu of" in name or "sigmoid of" in name))
"""


def test_a_traced_call_compiles_no_kernel_that_its_program_does_not_call(tmp_path):
    """NumPy serves there; the same step run eagerly has its kernels."""
    environment = os.environ | {"PELLUCID_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", SPARED], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    before, after = done.stdout.splitlines()
    assert before == "[]"
    assert "relu" in after and "sigmoid" in after and "optim.adam" in after


def test_numpy_serves_for_so_many_elements_only(monkeypatch):
    monkeypatch.setattr(native, "_spared", {})
    assert not native.spared("some", 10)  # nothing is traced
    monkeypatch.setattr(native, "sparing", [1])
    assert native.spared("some", 1 << 20) and native.spared("some", 1 << 20)
    assert not native.spared("some", 1) and native.spared("other", 1)
