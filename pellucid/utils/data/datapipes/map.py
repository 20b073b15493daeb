"""Pipes of samples by key."""

from ....data import pipes as _pipes

Batcher = _pipes.BatcherMapDataPipe
Concater = _pipes.ConcaterMapDataPipe
Mapper = _pipes.MapperMapDataPipe
SequenceWrapper = _pipes.SequenceWrapperMapDataPipe
Zipper = _pipes.ZipperMapDataPipe
