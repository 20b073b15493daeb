"""Updates of parameters: optimizers and clipping."""
