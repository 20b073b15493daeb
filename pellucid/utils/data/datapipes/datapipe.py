"""The classes that pipelines are made of."""

from ....data.pipes.base import DataChunk as DataChunk
from ....data.pipes.base import DFIterDataPipe as DFIterDataPipe
from ....data.pipes.base import IterDataPipe as IterDataPipe
from ....data.pipes.base import MapDataPipe as MapDataPipe
from ....data.pipes.base import (
    _IterDataPipeSerializationWrapper as _IterDataPipeSerializationWrapper,
)
from ....data.pipes.base import _MapDataPipeSerializationWrapper as _MapDataPipeSerializationWrapper

__all__ = ["DFIterDataPipe", "DataChunk", "IterDataPipe", "MapDataPipe"]
