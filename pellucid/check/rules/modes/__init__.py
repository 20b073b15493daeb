"""PL4xx: train and eval mode, dropout and running statistics."""
