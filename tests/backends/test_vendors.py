"""The lines that portable scripts begin with run, and tell the truth."""

import subprocess
import sys

import pytest

import pellucid as torch


def test_the_reproducibility_preamble_runs():
    cudnn = torch.backends.cudnn
    before = cudnn.deterministic, cudnn.benchmark
    try:
        torch.backends.cudnn.deterministic = True
        torch.backends.cudnn.benchmark = False
        assert (cudnn.deterministic, cudnn.benchmark) == (True, False)
    finally:
        cudnn.deterministic, cudnn.benchmark = before


@pytest.mark.parametrize("name", ["cudnn", "mkl", "mkldnn", "mps", "openmp"])
def test_no_vendor_library_is_claimed(name):
    assert getattr(torch.backends, name).is_available() is False


def test_a_vendor_nobody_knows_is_refused():
    with pytest.raises(AttributeError, match="has no attribute 'tpu'"):
        torch.backends.tpu


def test_modules_are_importable_under_the_name_torch():
    program = """
import pellucid.interop
pellucid.interop.as_torch()
import torch.backends.cudnn as cudnn
import torch
assert torch.backends.cudnn is cudnn
print(cudnn.version(), torch.backends.cuda.is_built(), torch.backends.mps.is_built(), torch.backends.cuda.matmul.allow_tf32)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "None False False False\n", done.stderr


def test_a_block_in_which_settings_are_assigned():
    allowed = getattr(torch.backends, "__allow_nonbracketed_mutation")
    before = torch.backends.cudnn.deterministic
    with allowed():
        torch.backends.cudnn.deterministic = True
    assert torch.backends.cudnn.deterministic
    torch.backends.cudnn.deterministic = before
