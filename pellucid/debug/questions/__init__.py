"""The questions that `explain` answers: why a gradient is None, where a NaN comes from, what keeps
a graph alive.
"""
