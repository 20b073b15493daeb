"""Gather and scatter, embeddings and bags of them."""
