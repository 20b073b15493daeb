"""Pipes of `torch.utils.data.datapipes.iter`, where PyTorch has them."""

from .....data.pipes.common import IterableWrapperIterDataPipe as IterableWrapperIterDataPipe
