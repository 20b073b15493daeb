"""Pipes of `torch.utils.data.datapipes.iter`, where PyTorch has them."""

from .....data.pipes import SHARDING_PRIORITIES as SHARDING_PRIORITIES
from .....data.pipes import ShardingFilterIterDataPipe as ShardingFilterIterDataPipe
from .....data.pipes import _ShardingIterDataPipe as _ShardingIterDataPipe
