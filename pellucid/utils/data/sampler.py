"""`torch.utils.data.sampler`."""

from ...data.sampler import *  # noqa: F403
