"""How data moves between the ranks, and is reduced on the way."""
