"""PL3xx: gradients between backward and step."""
