"""`torch.utils.data._utils`, which programs reach for its collate functions."""

from ....data import collate as collate
from ....data.loading import fetch as fetch
from ....data.loading import pin_memory as pin_memory
from ....data.loading import worker as worker
