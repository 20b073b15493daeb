"""Transformations that may still change (`torch.fx.experimental`)."""
