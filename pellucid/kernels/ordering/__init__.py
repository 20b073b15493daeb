"""Sorting, selection, search and running sums."""

# Up to this many elements are sorted by insertion, as in PyTorch, so that equal ones keep their
# order.
FEW = 16
