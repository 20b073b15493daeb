"""Products and convolutions of eight-bit integers, and quantization to them."""
