"""PL3xx: gradients between backward and step, what cuts them off, and learning rates."""
