"""The scripts that are checked are no tests."""

collect_ignore = ["correct", "scripts", "batch.py"]
