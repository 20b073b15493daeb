"""`torch.utils.data`."""

from ...api.attach import suggest_names as _suggest_names
from ...data import *  # noqa: F403
from ...data.worker import get_worker_info as get_worker_info
from . import _utils as _utils
from . import dataloader as dataloader
from . import dataset as dataset
from . import distributed as distributed
from . import sampler as sampler

_suggest_names(__name__)
