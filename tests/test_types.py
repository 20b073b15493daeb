"""A user's program under mypy's default settings: no errors, and the types that PyTorch's own
annotations give.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy")
ROOT = Path(__file__).resolve().parents[1]
PROGRAM = """
import pellucid as torch
import pellucid.nn.functional as F
from pellucid import nn
from pellucid.utils.data import DataLoader, Dataset


class Net(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, width), nn.ReLU())
        self.heads = nn.ModuleList([nn.Linear(width, 2)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.heads[0](self.body(x))


class Pairs(Dataset[tuple[torch.Tensor, int]]):
    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return torch.ones(4), index

    def __len__(self) -> int:
        return 3


class Flow(nn.Module, torch.distributions.Transform):
    __call__ = torch.distributions.Transform.__call__
    __hash__ = nn.Module.__hash__
    domain = codomain = torch.distributions.constraints.real

    def _call(self, x: torch.Tensor) -> torch.Tensor:
        return x


net = Net(8)
values, indices = net(torch.randn(3, 4)).max(0)
loss: torch.Tensor = F.cross_entropy(net(torch.randn(3, 4)), torch.tensor([0, 1, 1]))
loss.backward()
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
optimizer.step()
first: nn.Module = net.body[0]
loader = DataLoader(Pairs(), batch_size=2)
plain = DataLoader([1, 2, 3])
for x, y in loader:
    net(x)
reveal_type(net.body[0])  # Module
reveal_type(net.body[:1])  # Sequential
reveal_type(net.heads[0])  # Module
reveal_type(torch.ones(2).max())  # Tensor
reveal_type(torch.ones(2).max(0).indices)  # Tensor
reveal_type(torch.max(torch.ones(2), torch.ones(2)))  # Tensor
reveal_type(torch.ones(2).sort().values)  # Tensor
reveal_type(torch.topk(torch.ones(2), 1).indices)  # Tensor
reveal_type(torch.linalg.svd(torch.ones(2, 2)).Vh)  # Tensor
reveal_type(torch.median(torch.ones(2)))  # Tensor
reveal_type(torch.ones(2).aminmax().min)  # Tensor
"""


def test_a_program_has_pytorchs_types(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--config-file",
        "",
        "--cache-dir",
        str(tmp_path / "cache"),
        str(path),
    ]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"MYPYPATH": str(ROOT), "PATH": ""},
    )
    found = dict(re.findall(r"program\.py:(\d+): note: Revealed type is \"(.*)\"", done.stdout))
    # the library itself has make lint
    assert not re.search(r"^program\.py:\d+: error", done.stdout, re.M), done.stdout
    for number, line in enumerate(PROGRAM.splitlines(), 1):
        if line.startswith("reveal_type"):
            assert found[str(number)].rpartition(".")[2] == line.rpartition("# ")[2], (
                line,
                found[str(number)],
            )
