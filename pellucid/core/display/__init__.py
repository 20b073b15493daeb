"""How tensors look: text and notebooks."""
