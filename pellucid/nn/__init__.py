"""`torch.nn`: modules, parameters, functions, initial values."""

from __future__ import annotations

from typing import Any

from . import attention as attention
from . import common_types as common_types
from . import functional as functional
from . import grad as grad
from . import init as init
from . import modules as modules
from . import parallel as parallel
from . import parameter as parameter
from . import utils as utils
from .modules import *  # noqa: F403
from .parallel import DataParallel as DataParallel
from .parameter import Buffer as Buffer
from .parameter import Parameter as Parameter
from .parameter import UninitializedBuffer as UninitializedBuffer
from .parameter import UninitializedParameter as UninitializedParameter


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """The arguments of a module's constructor that say where and of what type its tensors are made.

    Raises:
        TypeError: other arguments, or one given twice.
    """
    if kwargs is None:
        return {}
    simple = {"device", "dtype", "memory_format"}
    known = simple | {"factory_kwargs"}
    if not kwargs.keys() <= known:
        raise TypeError(f"unexpected kwargs {kwargs.keys() - known}")
    result = dict(kwargs.get("factory_kwargs", {}))
    for key in sorted(simple & kwargs.keys()):
        if key in result:
            raise TypeError(f"{key} specified twice, in **kwargs and in factory_kwargs")
        result[key] = kwargs[key]
    return result
