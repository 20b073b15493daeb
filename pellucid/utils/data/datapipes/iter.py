"""Pipes of streams."""

from ....data import pipes as _pipes

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
