"""Sorting, selecting, searching, running sums."""
