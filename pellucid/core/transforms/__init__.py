"""Forward mode and batching."""
