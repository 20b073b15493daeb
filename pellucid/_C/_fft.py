"""Functions under the names that PyTorch's compiled module `torch._C._fft` has for them."""

from __future__ import annotations

from ..api.origins import defined_in as _defined_in

globals().update(_defined_in("torch._C._fft"))
