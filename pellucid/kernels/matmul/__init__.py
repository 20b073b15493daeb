"""Matrix products: kernels on packed panels, and the choice between them and BLAS."""
