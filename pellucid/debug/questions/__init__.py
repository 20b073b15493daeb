"""What `explain` answers: why a gradient is None, where a NaN was made, what keeps a graph alive."""
