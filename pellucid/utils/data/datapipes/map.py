"""Pipes of samples by key."""

from ....data.pipes import by_key as _pipes

__all__ = ["Batcher", "Concater", "Mapper", "SequenceWrapper", "Shuffler", "Zipper"]

Batcher = _pipes.BatcherMapDataPipe
Concater = _pipes.ConcaterMapDataPipe
Mapper = _pipes.MapperMapDataPipe
Shuffler = _pipes.ShufflerIterDataPipe
SequenceWrapper = _pipes.SequenceWrapperMapDataPipe
Zipper = _pipes.ZipperMapDataPipe
