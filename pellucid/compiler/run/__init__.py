"""Compiled versions of a function, and how they are called."""
