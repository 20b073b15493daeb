"""`torch.utils.data.dataset`."""

from ...data.dataset import *  # noqa: F403
