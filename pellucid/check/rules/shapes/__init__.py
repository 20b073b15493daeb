"""PL1xx: shapes, arrangement and types of numbers."""
