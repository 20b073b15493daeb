"""Programs made into better programs."""
