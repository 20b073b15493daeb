"""PL310, PL311 and PL314: learning rates, their schedules and their units."""
