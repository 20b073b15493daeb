"""PL2xx: the inputs of losses: scores, probabilities, labels, axes."""
