"""Pipes of `torch.utils.data.datapipes.iter`, where PyTorch has them."""

from .....data.branches import DemultiplexerIterDataPipe as DemultiplexerIterDataPipe
from .....data.branches import ForkerIterDataPipe as ForkerIterDataPipe
from .....data.branches import MultiplexerIterDataPipe as MultiplexerIterDataPipe
from .....data.branches import _ChildDataPipe as _ChildDataPipe
from .....data.pipes import ConcaterIterDataPipe as ConcaterIterDataPipe
from .....data.pipes import ZipperIterDataPipe as ZipperIterDataPipe
