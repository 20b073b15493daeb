"""Text and notebook output of tensors."""
