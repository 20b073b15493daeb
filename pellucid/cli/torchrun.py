"""`pellucid torchrun` starts a script as several ranks."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

_EPILOG = """\
examples:
  pellucid torchrun --nproc_per_node 4 train.py --epochs 5   four ranks here
  pellucid torchrun --nproc_per_node 4 -m package.train      a module
  pellucid torchrun --nnodes 2 --node_rank 0 --master_addr host \\
      --nproc_per_node 4 train.py                            the first of two machines
"""


def main(argv: Sequence[str]) -> int:
    """Run what the command line names; returns the exit status."""
    from pellucid.distributed.run import LocalRanks

    return LocalRanks(_parser().parse_args(list(argv))).run()


def _parser() -> argparse.ArgumentParser:
    from pellucid.distributed.run import get_args_parser

    parser = get_args_parser()
    parser.prog, parser.epilog, parser.formatter_class = (
        "pellucid torchrun",
        _EPILOG,
        argparse.RawDescriptionHelpFormatter,
    )
    return parser
