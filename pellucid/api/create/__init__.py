"""Functions and constructors that make tensors from what is none."""
