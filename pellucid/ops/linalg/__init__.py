"""Matrix products, factorisations, solvers."""
