"""What was computed in a call: operations, their values and gradients."""
