"""Recording of what a call computes: operations, their values and gradients."""
