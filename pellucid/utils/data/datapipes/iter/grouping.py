"""Pipes of `torch.utils.data.datapipes.iter`, where PyTorch has them."""

from .....data.branches import GrouperIterDataPipe as GrouperIterDataPipe
from .....data.pipes import SHARDING_PRIORITIES as SHARDING_PRIORITIES
from .....data.pipes import BatcherIterDataPipe as BatcherIterDataPipe
from .....data.pipes import ShardingFilterIterDataPipe as ShardingFilterIterDataPipe
from .....data.pipes import UnBatcherIterDataPipe as UnBatcherIterDataPipe
