"""`torch.ao.nn.quantized.dynamic`: modules that quantize their input on the way, with float
results.
"""

from __future__ import annotations

from . import modules as modules
from .modules import GRU as GRU
from .modules import LSTM as LSTM
from .modules import GRUCell as GRUCell
from .modules import Linear as Linear
from .modules import LSTMCell as LSTMCell
from .modules import RNNCell as RNNCell
