"""PL9xx: batches, their order and size, and what reads of them."""
