"""Products and convolutions of eight-bit integers, and the rounding of numbers to them."""
