"""The version (`torch.version`): that of the PyTorch whose API this is, and no accelerator."""

from __future__ import annotations

from ._version import __version__ as pellucid_version

__version__ = f"2.13.0+pellucid{pellucid_version}"
debug = False
cuda = None
git_version = None
hip = None
rocm = None
xpu = None
