"""PL2xx: what losses are given: scores, probabilities, labels, axes."""
