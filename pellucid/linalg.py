"""`torch.linalg`: linear algebra."""

from __future__ import annotations

from .api import attach as _attach
from .errors import LinAlgError as LinAlgError

_attach.publish(globals(), "linalg")
