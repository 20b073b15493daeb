"""The engine: tensors, the recorded graph, differentiation, random streams."""
