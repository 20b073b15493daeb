"""Programs that ranks run are no tests: importing them starts what they do."""

collect_ignore = ["programs"]
