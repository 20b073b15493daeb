"""Pipes of `torch.utils.data.datapipes.iter`, where PyTorch has them."""

from .....data.pipes.branches import GrouperIterDataPipe as GrouperIterDataPipe
from .....data.pipes.common import SHARDING_PRIORITIES as SHARDING_PRIORITIES
from .....data.pipes.common import BatcherIterDataPipe as BatcherIterDataPipe
from .....data.pipes.common import ShardingFilterIterDataPipe as ShardingFilterIterDataPipe
from .....data.pipes.common import UnBatcherIterDataPipe as UnBatcherIterDataPipe
