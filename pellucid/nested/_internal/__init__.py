"""Inner names of nested tensors, where libraries import them (`torch.nested._internal`)."""
