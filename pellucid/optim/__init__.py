"""`torch.optim`: optimizers and learning-rate schedules."""

from . import optimizer as optimizer
from .adam import Adam as Adam
from .adamw import AdamW as AdamW
from .optimizer import Optimizer as Optimizer
from .sgd import SGD as SGD
