"""Pipes of `torch.utils.data.datapipes.iter`, where PyTorch has them."""

from .....data.branches import SamplerIterDataPipe as SamplerIterDataPipe
from .....data.pipes import ShufflerIterDataPipe as ShufflerIterDataPipe
