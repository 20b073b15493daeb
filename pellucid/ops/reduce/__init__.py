"""Reductions, scans, sorting and searching."""
