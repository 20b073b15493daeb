"""PL9xx: what a model has learned of the data that it is judged by."""
