"""Pipes of `torch.utils.data.datapipes.iter`, where PyTorch has them."""

from .....data.pipes import CollatorIterDataPipe as CollatorIterDataPipe
from .....data.pipes import MapperIterDataPipe as MapperIterDataPipe
