"""Sorting, selecting, searching, running sums."""

# As many are sorted by insertion, as in PyTorch, which keeps equals in their order.
FEW = 16
