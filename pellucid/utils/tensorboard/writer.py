"""The writers under PyTorch's module name."""

from ._files import FileWriter as FileWriter
from ._writer import SummaryWriter as SummaryWriter
