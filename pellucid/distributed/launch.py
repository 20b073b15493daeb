"""`python -m torch.distributed.launch`: `torchrun` under its old name."""

from __future__ import annotations

import sys

from .run import get_args_parser as get_args_parser
from .run import main as main
from .run import parse_args as parse_args
from .run import run as run
from .run import status

if __name__ == "__main__":
    sys.exit(status())
