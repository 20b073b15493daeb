"""Recurrent layers: RNN, LSTM and GRU."""
