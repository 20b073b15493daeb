"""Helpers of the rules that read the user's source."""
