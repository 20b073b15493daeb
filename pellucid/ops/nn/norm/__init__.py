"""Normalization: layer, RMS, batch, group, instance, local response."""
