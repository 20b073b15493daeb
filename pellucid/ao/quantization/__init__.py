"""`torch.ao.quantization`: models with weights and results of bytes.

Dynamic quantization needs nothing but the model; for static quantization, the model runs with some
data first.

>>> import pellucid as torch
>>> model = torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.ReLU())
>>> small = torch.ao.quantization.quantize_dynamic(model, {torch.nn.Linear})
>>> small(torch.zeros(1, 4)).shape
torch.Size([1, 2])
"""

from __future__ import annotations

from typing import Any, NoReturn

from ...errors import UnsupportedError
from . import fake_quantize as fake_quantize
from . import fuse_modules as _fusing
from . import observer as observer
from . import qconfig as qconfig
from . import quantization_mappings as quantization_mappings
from . import quantize as _quantizing
from . import quantize_fx as quantize_fx
from . import stubs as stubs
from .fake_quantize import *  # noqa: F403
from .fuse_modules import fuse_conv_bn as fuse_conv_bn
from .fuse_modules import fuse_conv_bn_relu as fuse_conv_bn_relu
from .fuse_modules import fuse_convtranspose_bn as fuse_convtranspose_bn
from .fuse_modules import fuse_known_modules as fuse_known_modules
from .fuse_modules import fuse_linear_bn as fuse_linear_bn
from .fuse_modules import fuse_modules as fuse_modules
from .fuse_modules import fuse_modules_qat as fuse_modules_qat
from .fuse_modules import get_fuser_method as get_fuser_method
from .observer import *  # noqa: F403
from .qconfig import *  # noqa: F403
from .quantization_mappings import *  # noqa: F403
from .quantize import *  # noqa: F403
from .stubs import DeQuantStub as DeQuantStub
from .stubs import QuantStub as QuantStub
from .stubs import QuantWrapper as QuantWrapper


def _refusing(name: str) -> None:
    def refused(*args: Any, **kwargs: Any) -> NoReturn:
        raise UnsupportedError(
            f"torch.ao.quantization.{name} is not supported",
            hint="prepare, convert and quantize_dynamic are",
        )

    refused.__name__ = refused.__qualname__ = name
    refused.__doc__ = f"""Not supported: always raises an error. Use `prepare` and `convert`, or `quantize_dynamic`.

    >>> import pellucid as torch
    >>> torch.ao.quantization.{name}()
    Traceback (most recent call last):
        ...
    NotImplementedError: torch.ao.quantization.{name} is not supported...
    """
    globals()[name] = refused


for _name in (
    "prepare_jit",
    "convert_jit",
    "prepare_dynamic_jit",
    "convert_dynamic_jit",
    "quantize_jit",
    "quantize_dynamic_jit",
    "fuse_conv_bn_jit",
    "script_qconfig",
    "script_qconfig_dict",
    "get_default_qconfig_mapping",
    "get_default_qat_qconfig_mapping",
    "QConfigMapping",
    "get_default_qconfig_dict",
    "get_default_qat_qconfig_dict",
):
    _refusing(_name)
