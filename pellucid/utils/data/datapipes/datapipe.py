"""The classes that pipelines are made of."""

from ....data.pipe import DataChunk as DataChunk
from ....data.pipe import DFIterDataPipe as DFIterDataPipe
from ....data.pipe import IterDataPipe as IterDataPipe
from ....data.pipe import MapDataPipe as MapDataPipe
from ....data.pipe import (
    _IterDataPipeSerializationWrapper as _IterDataPipeSerializationWrapper,
)
from ....data.pipe import (
    _MapDataPipeSerializationWrapper as _MapDataPipeSerializationWrapper,
)
