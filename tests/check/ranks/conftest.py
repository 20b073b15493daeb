"""The scripts that are checked are no tests."""

collect_ignore = ["scripts", "correct", "batch.py"]
