"""Pipes of `torch.utils.data.datapipes.iter`, where PyTorch has them."""

from .....data.pipes.branches import DemultiplexerIterDataPipe as DemultiplexerIterDataPipe
from .....data.pipes.branches import ForkerIterDataPipe as ForkerIterDataPipe
from .....data.pipes.branches import MultiplexerIterDataPipe as MultiplexerIterDataPipe
from .....data.pipes.branches import _ChildDataPipe as _ChildDataPipe
from .....data.pipes.common import ConcaterIterDataPipe as ConcaterIterDataPipe
from .....data.pipes.common import ZipperIterDataPipe as ZipperIterDataPipe
