"""Annotations of classes that programs derive from are objects, as in PyTorch: a program's own
module does not know the names in them.
"""

import subprocess
import sys

SCRIPT = """
import typing
import torch

class Mine(torch.nn.Module):
    pass

class Loss(torch.distributions.Normal):
    pass

for made in (Mine(), torch.nn.Linear(1, 1), torch.nn.BatchNorm1d(1), Loss(0., 1.)):
    typing.get_type_hints(made, globalns={}, localns={})
    assert not any(isinstance(v, str) for v in made.__annotations__.values()), made
print("whole")
"""


def test_annotations_are_objects(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "-m", "pellucid", "run", str(script)], capture_output=True, text=True
    )
    assert done.stdout == "whole\n", done.stderr
