"""PyTorch's random numbers: the Mersenne Twister and the distributions drawn from it."""
