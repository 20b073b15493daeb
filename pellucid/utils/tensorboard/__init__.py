"""Event files for TensorBoard, written without TensorFlow and without the tensorboard package.

Only looking at the files needs TensorBoard: `tensorboard --logdir runs`.
"""

from __future__ import annotations

from ._files import FileWriter as FileWriter
from ._writer import SummaryWriter as SummaryWriter

__all__ = ["FileWriter", "SummaryWriter"]
