"""Pipes of `torch.utils.data.datapipes.iter`, where PyTorch has them."""

from .....data.pipes.files import FileListerIterDataPipe as FileListerIterDataPipe
