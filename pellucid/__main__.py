"""`python -m pellucid SCRIPT [ARGS]` is short for `pellucid run`. A command's name in place of
SCRIPT runs that command.
"""

import difflib
import os
import sys

from pellucid.cli import COMMANDS, main

if __name__ == "__main__":
    arguments = sys.argv[1:]
    # Options of `run` (-m, -c, -) and file names start a script; a script called like a command is
    # reached by its path.
    first = arguments[0] if arguments else "--help"
    typing_error = not os.path.exists(first) and difflib.get_close_matches(first, COMMANDS)
    if first not in (*COMMANDS, "-h", "--help", "-V", "--version") and not typing_error:
        arguments = ["run", *arguments]
    sys.exit(main(arguments))
