"""`python -m pellucid SCRIPT [ARGS]`: short for `pellucid run`; with a command's name in place of SCRIPT, that command."""

import sys

from pellucid.cli import COMMANDS, main

if __name__ == "__main__":
    arguments = sys.argv[1:]
    # Options of `run` (-m, -c, -) and file names start a script; a script called like a command is reached by its path.
    if arguments and arguments[0] not in (*COMMANDS, "-h", "--help", "-V", "--version"):
        arguments = ["run", *arguments]
    sys.exit(main(arguments))
