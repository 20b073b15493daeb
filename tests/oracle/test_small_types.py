"""Calls of every overload with floats of eight bits: counts that must not fall. `small_types.py`
says how they are made and shows differences.
"""

import io
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

HERE = Path(__file__).parent
FLOOR = json.loads((HERE / "small_types.json").read_text())


@pytest.mark.parametrize("kind", FLOOR)
def test_calls_are_equal(kind, tmp_path):
    """In a process of its own: PyTorch gives some warnings once."""
    written = tmp_path / "calls.json"
    command = [sys.executable, str(HERE / "small_types.py"), "--types", kind]
    done = subprocess.run(
        [*command, "--json", str(written)],
        capture_output=True,
        text=True,
        timeout=600,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-4000:]
    calls = json.loads(written.read_text())
    assert len(calls) >= FLOOR[kind]["calls"]
    assert sum(not difference for *_, difference, _, _ in calls) >= FLOOR[kind]["equal"]


def test_powers_of_two_are_pytorchs():
    """`float8_e8m0fnu` has neither a sign nor a zero: rounding, printing, and files both ways."""
    torch = pytest.importorskip("torch")
    import pellucid

    edges = [
        0.0,
        -0.0,
        1.0,
        1.5,
        3.0,
        -1.0,
        5.9,
        0.75,
        1e-45,
        1e-38,
        1e38,
        3e38,
        math.inf,
        math.nan,
    ]
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**32, 20_000, dtype=np.uint32).view(np.float32)
    for values in (edges, bits.tolist(), [1.0, 2.0], [0.0, 0.0], [2.0**-40, 2.0**-20]):
        written = []
        for library in (torch, pellucid):
            x = library.tensor(values).to(library.float8_e8m0fnu)
            made = library.tensor(values, dtype=library.float8_e8m0fnu)
            assert x.view(library.uint8).tolist() == made.view(library.uint8).tolist()
            file = io.BytesIO()
            library.save({"x": x}, file)
            written.append((x.view(library.uint8).tolist(), str(x[:14]), file))
        assert written[0][:2] == written[1][:2]
        for library, (codes, _, file) in zip((pellucid, torch), written, strict=True):
            file.seek(0)
            read = library.load(file)["x"]
            assert read.dtype is library.float8_e8m0fnu
            assert read.view(library.uint8).tolist() == codes
    for library in (torch, pellucid):
        x = library.ones(3, dtype=library.float8_e8m0fnu)
        x[0], x[1] = 0, -3.0
        assert x.view(library.uint8).tolist() == [0, 129, 127]
        x.zero_()
        out = library.zeros(2).to(library.float8_e8m0fnu)
        library.sub(library.tensor([1.0, 2.0]), library.tensor([1.0, 6.0]), out=out)
        assert [*x.view(library.uint8).tolist(), *out.view(library.uint8).tolist()] == [
            0,
            0,
            0,
            0,
            129,
        ]


def test_safetensors_of_powers_of_two_cross_both_ways(tmp_path):
    safetensors = pytest.importorskip("safetensors.torch")
    torch = pytest.importorskip("torch")
    import pellucid
    from pellucid.interop import safetensors as ours

    codes = [0, 1, 127, 254, 255]
    safetensors.save_file(
        {"x": torch.tensor(codes, dtype=torch.uint8).view(torch.float8_e8m0fnu)}, tmp_path / "a"
    )
    read = ours.load_file(tmp_path / "a")["x"]
    assert read.dtype is pellucid.float8_e8m0fnu
    assert read.view(pellucid.uint8).tolist() == codes
    ours.save_file({"x": read}, tmp_path / "b")
    back = safetensors.load_file(tmp_path / "b")["x"]
    assert back.view(torch.uint8).tolist() == codes
