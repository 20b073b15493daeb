"""Pipes of `torch.utils.data.datapipes.iter`, where PyTorch has them."""

from .....data.pipes.common import FilterIterDataPipe as FilterIterDataPipe
