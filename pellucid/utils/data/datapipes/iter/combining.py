"""Pipes of `torch.utils.data.datapipes.iter`, where PyTorch has them."""

from .....data.pipes import ConcaterIterDataPipe as ConcaterIterDataPipe
from .....data.pipes import ZipperIterDataPipe as ZipperIterDataPipe
