"""Helpers for tests: compare results, create arguments, check derivatives (`torch.testing`)."""

from __future__ import annotations

from ..autograd.gradcheck import GradcheckError as GradcheckError
from ..autograd.gradcheck import gradcheck as gradcheck
from ..autograd.gradcheck import gradgradcheck as gradgradcheck
from ._comparison import assert_allclose as assert_allclose
from ._comparison import assert_close as assert_close
from ._creation import make_tensor as make_tensor

__all__ = [
    "GradcheckError",
    "assert_allclose",
    "assert_close",
    "gradcheck",
    "gradgradcheck",
    "make_tensor",
]
