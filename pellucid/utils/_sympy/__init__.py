"""Integer arithmetic on sympy's expressions (`torch.utils._sympy`); its modules need sympy."""
