"""`torch.utils.data._utils`, which programs reach for its collate functions."""

from ....data import collate as collate
from ....data import fetch as fetch
from ....data import worker as worker
