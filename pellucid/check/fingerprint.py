"""Short names for the contents of arrays, by which rules find the same numbers again."""

from __future__ import annotations

import hashlib

import numpy as np


def fingerprint(*arrays: np.ndarray, of: str = "") -> bytes:
    """Twelve bytes that equal contents share, in whatever layout they are; `of` is told apart too."""
    contents = b"".join(a.tobytes() for a in arrays)
    return hashlib.blake2b(of.encode() + contents, digest_size=12).digest()
