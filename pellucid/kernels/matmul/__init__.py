"""Matrix products: packed panels, and the choice between them and BLAS."""
