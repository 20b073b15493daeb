"""Windows of images: fold and unfold, grid sampling, interpolation."""
