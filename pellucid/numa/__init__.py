"""Where in memory processes run (`torch.numa`)."""
