"""The classes that pipelines are made of."""

from ....data.pipes import DataChunk as DataChunk
from ....data.pipes import DFIterDataPipe as DFIterDataPipe
from ....data.pipes import IterDataPipe as IterDataPipe
from ....data.pipes import MapDataPipe as MapDataPipe
