"""Updates of parameters (optimizers), and gradient clipping."""
