"""Object code on disk, shared by all processes of a user."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import sys
import tempfile
from pathlib import Path

__all__ = ["CACHE_BYTES", "directory", "load", "store"]

CACHE_BYTES = 128 << 20  # bound of the whole folder in bytes; a kernel takes 5 to 60 KiB
_MAGIC = b"pellucid-object-1\n"


def directory() -> Path | None:
    """The cache folder (`PELLUCID_CACHE_DIR`, or the platform's cache folder), or None where it cannot be used."""
    return _made(_user(), *(os.environ.get(name) for name in ("PELLUCID_CACHE_DIR", "LOCALAPPDATA", "XDG_CACHE_HOME", "HOME")))


def _user() -> int | None:
    return os.getuid() if hasattr(os, "getuid") else None


@functools.cache
def _made(user: int | None, chosen: str | None, *_others: str | None) -> Path | None:
    """The folder for these values of the environment, made and looked at once: a program loads dozens of files."""
    try:
        if chosen:
            path = Path(chosen)
        elif sys.platform == "win32":
            path = Path(os.environ.get("LOCALAPPDATA", "") or Path.home() / "AppData" / "Local") / "pellucid" / "cache"
        elif sys.platform == "darwin":
            path = Path.home() / "Library" / "Caches" / "pellucid"
        else:
            path = Path(os.environ.get("XDG_CACHE_HOME", "") or Path.home() / ".cache") / "pellucid"
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
    except (OSError, RuntimeError):  # RuntimeError: no home folder
        return None
    # The files are executed: a folder that belongs to somebody else is not trusted.
    if user is not None and path.stat().st_uid not in (user, 0):
        return None
    return path


def load(key: str, suffix: str = ".o") -> bytes | None:
    """The bytes stored under `key`, or None when there are none or they are damaged."""
    folder = directory()
    if folder is None:
        return None
    try:
        path = folder / (key + suffix)
        blob = path.read_bytes()
    except OSError:
        return None
    head = len(_MAGIC)
    payload = blob[head + 32 :]
    if blob[:head] != _MAGIC or hashlib.sha256(payload).digest() != blob[head : head + 32]:
        return None  # truncated or overwritten; the caller compiles again and replaces it
    with contextlib.suppress(OSError):
        os.utime(path)  # the least recently used files go first
    return payload


def store(key: str, payload: bytes, suffix: str = ".o") -> None:
    """Keep `payload` under `key`; written to one side and renamed, so readers see all of it or nothing."""
    folder = directory()
    if folder is None:
        return
    name = None
    try:
        if not folder.is_dir():  # somebody has removed it since
            _made.cache_clear()
            folder = directory() or folder
        handle, name = tempfile.mkstemp(dir=folder, prefix=".new-")
        with os.fdopen(handle, "wb") as file:
            file.write(_MAGIC + hashlib.sha256(payload).digest() + payload)
        os.replace(name, folder / (key + suffix))
    except OSError:  # a full or read-only disk costs speed only
        if name is not None:
            with contextlib.suppress(OSError):
                os.unlink(name)
        return
    # Looking at every file takes longer than writing one: not each time.
    global _written
    _written += len(payload)
    if _written > CACHE_BYTES >> 6:
        _written = 0
        _trim(folder)


_written = CACHE_BYTES  # bytes since this process trimmed the folder: the first file it stores asks for it


def _trim(folder: Path) -> None:
    entries = []
    with contextlib.suppress(OSError), os.scandir(folder) as listing:
        for entry in listing:
            with contextlib.suppress(OSError):  # another process may remove it meanwhile
                if entry.is_file():
                    info = entry.stat()
                    entries.append((info.st_mtime, info.st_size, entry.path))
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries):
        if total <= CACHE_BYTES:
            return
        with contextlib.suppress(OSError):
            os.unlink(path)
        total -= size
