"""Array libraries behind one namespace (seam 1): what forward rules compute with."""
