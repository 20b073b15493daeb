"""Reports of the compiler: explanations, measurements and logs."""
