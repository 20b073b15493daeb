"""`torch.utils.data.datapipes`: pipelines of data."""

from . import datapipe as datapipe
from . import iter as iter
from . import map as map
