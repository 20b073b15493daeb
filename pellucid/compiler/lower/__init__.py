"""Lowering: the native code of each operation in a program."""
