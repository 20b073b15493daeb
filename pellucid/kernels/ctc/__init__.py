"""The loss of connectionist temporal classification."""
