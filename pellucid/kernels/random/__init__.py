"""PyTorch's random numbers: the Mersenne Twister, and distributions drawn from it."""
