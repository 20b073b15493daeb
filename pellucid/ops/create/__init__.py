"""New tensors: constants, ranges, random numbers, window functions."""
