"""From instructions to kernels: what each operation of a program becomes."""
