"""Pipes of `torch.utils.data.datapipes.iter`, where PyTorch has them."""

from .....data.file_pipes import FileListerIterDataPipe as FileListerIterDataPipe
