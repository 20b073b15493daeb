"""What Python did in a traced call: what it read, what it changed, and where the graph breaks."""
