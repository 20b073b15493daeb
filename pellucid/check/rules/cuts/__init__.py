"""PL306 and PL307: where the graph is cut between parameters and the loss."""
