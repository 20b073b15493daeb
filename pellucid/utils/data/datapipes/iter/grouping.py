"""Pipes of `torch.utils.data.datapipes.iter`, where PyTorch has them."""

from .....data.pipes import BatcherIterDataPipe as BatcherIterDataPipe
from .....data.pipes import ShardingFilterIterDataPipe as ShardingFilterIterDataPipe
from .....data.pipes import UnBatcherIterDataPipe as UnBatcherIterDataPipe
