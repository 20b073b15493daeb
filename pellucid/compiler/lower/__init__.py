"""Lowering: what each operation of a program becomes."""
