"""PL9xx: leaks between training and validation, batches of unequal size."""
