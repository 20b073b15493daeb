"""Pipelines of data: pipes for streams and for keys, and settings for all pipes of one."""
