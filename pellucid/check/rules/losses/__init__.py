"""PL2xx: the inputs of losses: scores, probabilities and axes."""
