"""Freed memory is kept for the next arrays."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from pellucid import config
from pellucid.arrays import memory

SCRIPT = textwrap.dedent("""
    import resource
    import numpy as np
    import pellucid as torch

    def step():
        kept = [torch.ones(200, 1000) + k for k in range(20)]  # 16 MB
        del kept

    for _ in range(3):
        step()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(5):
        step()
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
""")


def faults(**variables):
    environment = {
        k: v for k, v in os.environ.items() if not k.startswith("MALLOC_") and k != "GLIBC_TUNABLES"
    }
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**environment, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)


@pytest.mark.skipif(
    not sys.platform.startswith("linux") or not hasattr(os, "confstr"),
    reason="the GNU C library's malloc",
)
def test_steps_find_their_memory_again():
    if not (os.confstr("CS_GNU_LIBC_VERSION") or "").startswith("glibc"):
        pytest.skip("another C library")
    assert faults() < 500  # of 20,000 pages
    assert faults(PELLUCID_KEEP_MEMORY="0") > 2000


def test_settings_of_others_are_left_alone(monkeypatch):
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "1000000")
    assert not memory.keep_freed()
    monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_")
    with config.override(keep_memory=0):
        assert not memory.keep_freed()
    with pytest.raises(ValueError, match="PELLUCID_KEEP_MEMORY"):
        config.read_environment({"PELLUCID_KEEP_MEMORY": "many"})


AFTER_TRACING = textwrap.dedent("""
    import sys
    from pathlib import Path
    import pellucid as torch

    def resident():
        return int(next(l for l in Path("/proc/self/status").read_text().splitlines() if l.startswith("VmRSS")).split()[1]) / 1024

    x = torch.randn(250_000)
    w = torch.ones(1, requires_grad=True)

    @torch.compile
    def step(x):
        y = x * w
        for _ in range(60):  # 60 MB while tracing, and two or three arrays of 1 MB afterwards
            y = torch.sin(y) * 1.01
        return y.sum().detach()

    step(x)
    before = resident()
    for _ in range(3):
        step(x)
    print(resident())
    big = [torch.ones(250_000) + k for k in range(60)]
    print(resident())
""")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc")
def test_what_tracing_held_is_given_back():
    if not memory.give_back() and not sys.platform.startswith("linux"):
        pytest.skip("another C library")
    done = subprocess.run(
        [sys.executable, "-c", AFTER_TRACING], capture_output=True, text=True, check=True
    )
    after, full = map(float, done.stdout.split())
    assert full - after > 45  # the sixty arrays found no freed memory of that size
