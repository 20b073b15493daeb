"""What Python did in a call: what was read, what changed, where the graph breaks."""
