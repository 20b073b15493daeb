"""`torch.utils`."""

from ..api.attach import suggest_names as _suggest_names
from . import data as data

_suggest_names(__name__)
