"""Functions that PyTorch keeps for old code (`torch.autograd._functions`)."""

from .tensor import Resize as Resize
from .tensor import Type as Type
