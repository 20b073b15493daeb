"""`torch.utils.data._utils`, which programs reach for its collate functions."""

import importlib as _importlib
import sys
from typing import Any as _Any

from ....data import collate as collate
from ....data.loading import fetch as fetch
from ....data.loading import pin_memory as pin_memory
from ....data.loading import signals as signal_handling
from ....data.loading import worker as worker
from ....data.loading.worker import CHECK_SECONDS as MP_STATUS_CHECK_INTERVAL

__all__ = ["MP_STATUS_CHECK_INTERVAL", "signal_handling"]
HAS_NUMPY = True
IS_WINDOWS = sys.platform == "win32"
python_exit_status = False  # Python is not ending


def __getattr__(name: str) -> _Any:
    if name == "ExceptionWrapper":
        return _importlib.import_module(f"{__name__.partition('.')[0]}._utils").ExceptionWrapper
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
