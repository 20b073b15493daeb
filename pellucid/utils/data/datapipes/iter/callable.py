"""Pipes of `torch.utils.data.datapipes.iter`, where PyTorch has them."""

from .....data.pipes.common import CollatorIterDataPipe as CollatorIterDataPipe
from .....data.pipes.common import MapperIterDataPipe as MapperIterDataPipe
