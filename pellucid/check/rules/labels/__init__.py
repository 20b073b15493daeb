"""PL208 to PL210: the labels that losses are given: their type, range and axis."""
