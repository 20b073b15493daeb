"""`torch.nn.parallel`: modules that spread a batch over devices or processes."""

from __future__ import annotations

from ...api.packages import keep_functions as _keep_functions
from .data_parallel import DataParallel as DataParallel
from .data_parallel import data_parallel as data_parallel
from .distributed import DistributedDataParallel as DistributedDataParallel

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]

_keep_functions(__name__)
