"""Where compiled code is kept (`torch._inductor.runtime.cache_dir_utils`)."""

from __future__ import annotations

import getpass
import os
import re
import tempfile


def default_cache_dir() -> str:
    """A folder of the user's in the system's folder for temporary files."""
    user = re.sub(r'[\\/:*?"<>|]', "_", getpass.getuser())
    return os.path.join(tempfile.gettempdir(), f"torchinductor_{user}")


def cache_dir() -> str:
    """The folder of `TORCHINDUCTOR_CACHE_DIR`, else of the user; made where it is not there."""
    folder = os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", default_cache_dir())
    os.makedirs(folder, exist_ok=True)
    return folder
