"""`torch.utils.data.distributed`."""

from ...data.distributed import DistributedSampler as DistributedSampler

__all__ = ["DistributedSampler"]
