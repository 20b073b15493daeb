"""Indexing, gather and scatter."""
