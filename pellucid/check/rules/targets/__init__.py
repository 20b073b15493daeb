"""Targets of value functions, and the returns and advantages they are made of."""
