"""Pipes of `torch.utils.data.datapipes.iter`, where PyTorch has them."""

from .....data.pipes.branches import SamplerIterDataPipe as SamplerIterDataPipe
from .....data.pipes.common import ShufflerIterDataPipe as ShufflerIterDataPipe
