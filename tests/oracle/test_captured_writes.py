"""What functions under `torch.func`'s transforms may write to: every method in place, under every
transform, gives what it gives in PyTorch or is refused in the same words.
"""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

HERE = Path(__file__)
PROGRAM = HERE.with_name("captured_writes.py")


def results(library):
    done = subprocess.run(
        [sys.executable, PROGRAM, library], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def same(ours, theirs):
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    if isinstance(ours, float) and isinstance(theirs, float):
        return math.isclose(ours, theirs, rel_tol=1e-5) or math.isnan(ours) and math.isnan(theirs)
    return ours == theirs


def test_writes_under_transforms_are_pytorchs():
    theirs, ours = results("torch"), results("pellucid")
    assert len(theirs) > 4_000
    refused = [r for r in theirs.values() if "captured Tensor" in str(r)]
    assert len(refused) > 2_000
    different = {
        name: (ours[name], theirs[name]) for name in theirs if not same(ours[name], theirs[name])
    }
    assert not different, (len(different), list(different.items())[:5])
