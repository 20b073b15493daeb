"""The scripts that are checked are no tests."""

collect_ignore = ["correct", "planted", "scripts", "batch.py"]
