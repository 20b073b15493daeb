"""Pipes of streams."""

from .....data.pipes import branches as _branches
from .....data.pipes import common as _pipes
from .....data.pipes import files as _files

Batcher = _pipes.BatcherIterDataPipe
Collator = _pipes.CollatorIterDataPipe
Concater = _pipes.ConcaterIterDataPipe
Filter = _pipes.FilterIterDataPipe
IterableWrapper = _pipes.IterableWrapperIterDataPipe
Mapper = _pipes.MapperIterDataPipe
ShardingFilter = _pipes.ShardingFilterIterDataPipe
Shuffler = _pipes.ShufflerIterDataPipe
UnBatcher = _pipes.UnBatcherIterDataPipe
Zipper = _pipes.ZipperIterDataPipe
Demultiplexer = _branches.DemultiplexerIterDataPipe
Forker = _branches.ForkerIterDataPipe
Grouper = _branches.GrouperIterDataPipe
Multiplexer = _branches.MultiplexerIterDataPipe
Sampler = _branches.SamplerIterDataPipe
FileLister = _files.FileListerIterDataPipe
FileOpener = _files.FileOpenerIterDataPipe
StreamReader = _files.StreamReaderIterDataPipe

from . import callable as callable  # noqa: E402
from . import combinatorics as combinatorics  # noqa: E402
from . import combining as combining  # noqa: E402
from . import filelister as filelister  # noqa: E402
from . import fileopener as fileopener  # noqa: E402
from . import grouping as grouping  # noqa: E402
from . import selecting as selecting  # noqa: E402
from . import sharding as sharding  # noqa: E402
from . import streamreader as streamreader  # noqa: E402
from . import utils as utils  # noqa: E402

__all__ = [
    "Batcher",
    "Collator",
    "Concater",
    "Demultiplexer",
    "FileLister",
    "FileOpener",
    "Filter",
    "Forker",
    "Grouper",
    "IterableWrapper",
    "Mapper",
    "Multiplexer",
    "Sampler",
    "ShardingFilter",
    "Shuffler",
    "StreamReader",
    "UnBatcher",
    "Zipper",
]
