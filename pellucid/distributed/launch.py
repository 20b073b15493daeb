"""`python -m torch.distributed.launch`: `torchrun` under its old name."""

from __future__ import annotations

import sys

from .run import main as main
from .run import status

if __name__ == "__main__":
    sys.exit(status())
