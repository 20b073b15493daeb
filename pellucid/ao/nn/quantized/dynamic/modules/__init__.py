"""Modules that quantize their input on the way."""

from __future__ import annotations

from .linear import Linear as Linear
from .rnn import GRU as GRU
from .rnn import LSTM as LSTM
from .rnn import GRUCell as GRUCell
from .rnn import LSTMCell as LSTMCell
from .rnn import RNNCell as RNNCell
