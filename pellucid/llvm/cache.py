"""A disk cache of object code, shared by all processes of a user.

These files are executed, so only files that this user's own processes have written are read back.
The folder and its files must belong to the user and be writable by nobody else, and each file
carries an authentication code made with a random key that only the user can read.
"""

from __future__ import annotations

import contextlib
import functools
import hmac
import os
import stat
import sys
import time
from pathlib import Path

from ..errors import warn_once

__all__ = ["CACHE_BYTES", "directory", "load", "problem", "store"]

CACHE_BYTES = 128 << 20  # the folder is cut to less, once in a while; a kernel takes 5 to 60 KiB
_MAGIC = b"pellucid-object-2\n"
_CODE = 32  # bytes of an authentication code, and of the key
_KEY = "key"
_LISTED = "listed"  # an empty file; its time stamp tells when the folder was last listed
_BETWEEN = 600.0  # seconds from one listing to another process's first
_NO_LINK = (
    getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
# Opening files relative to a handle of the folder guarantees that the folder in use is the one that
# was checked, even if somebody renames a folder above it meanwhile.
_HANDLES = (
    os.open in os.supports_dir_fd
    and os.replace in os.supports_dir_fd
    and os.scandir in os.supports_fd
)


class _Folder:
    """A folder that has been checked to belong to this user and to be writable by nobody else."""

    def __init__(self, path: Path) -> None:
        """Create the folder if it is missing, and check it.

        Raises:
            OSError: it cannot be made or opened.
            PermissionError: somebody else may write to it; the text says why it is not trusted.
        """
        self.path = path
        self.handle: int | None = None
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not _HANDLES:
            _check(path.stat(), f"the folder {path}")
            return
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            _check(os.fstat(handle), f"the folder {path}")
        except PermissionError:
            os.close(handle)
            raise
        self.handle = handle

    def place(self, name: str) -> str:
        """Return the path to pass to functions of `os` together with `dir_fd=self.handle`: the bare
        name if there is a handle, else the full path.
        """
        return name if self.handle is not None else os.path.join(self.path, name)

    def read(self, name: str, private: bool = False) -> bytes | None:
        """Return the content of a regular file that belongs to this user, or None if it is not a
        regular file or is too large. Raises OSError if it cannot be opened.
        """
        handle = os.open(self.place(name), os.O_RDONLY | _NO_LINK, dir_fd=self.handle)
        with open(handle, "rb", buffering=0) as file:
            info = os.fstat(handle)
            if not stat.S_ISREG(info.st_mode) or info.st_size > CACHE_BYTES:
                return None
            _check(info, f"the file {name} in {self.path}", private)
            # Update the file's time stamp: `_trim` removes the files first that have not been used
            # for the longest time.
            if not private and os.utime in os.supports_fd:
                with contextlib.suppress(OSError):
                    os.utime(handle)
            return file.read(info.st_size)

    def write(self, name: str, content: bytes, replace: bool = True) -> None:
        """Write a file in one atomic step, so that readers see all of it or nothing. With
        `replace=False` an existing file is kept.
        """
        aside = f".new-{os.getpid()}-{os.urandom(8).hex()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK
        handle = os.open(self.place(aside), flags, 0o600, dir_fd=self.handle)
        try:
            with open(handle, "wb") as file:
                file.write(content)
            if not replace:
                try:
                    os.link(
                        self.place(aside),
                        self.place(name),
                        src_dir_fd=self.handle,
                        dst_dir_fd=self.handle,
                    )
                    return
                except FileExistsError:
                    return
                except (OSError, AttributeError):  # no hard links there: replace the file
                    pass
            os.replace(
                self.place(aside), self.place(name), src_dir_fd=self.handle, dst_dir_fd=self.handle
            )
        finally:
            with contextlib.suppress(OSError):
                self.remove(aside)

    def remove(self, name: str) -> None:
        os.unlink(self.place(name), dir_fd=self.handle)

    def listed_lately(self) -> bool:
        """Whether a process listed the files a few minutes ago."""
        try:
            info = os.stat(self.place(_LISTED), dir_fd=self.handle, follow_symlinks=False)
        except OSError:
            return False
        return abs(time.time() - info.st_mtime) < _BETWEEN

    def entries(self) -> list[tuple[float, int, str]]:
        """List the files as (time of last use, size in bytes, name)."""
        found = []
        with (
            contextlib.suppress(OSError),
            os.scandir(self.path if self.handle is None else self.handle) as listing,
        ):
            for entry in listing:
                with contextlib.suppress(OSError):  # another process may have removed it
                    if entry.is_file(follow_symlinks=False) and entry.name not in (_KEY, _LISTED):
                        info = entry.stat(follow_symlinks=False)
                        found.append((info.st_mtime, info.st_size, entry.name))
        return found

    @functools.cached_property
    def key(self) -> bytes | None:
        """The user's random key, created on first use; None if it cannot be read or written.

        The key is kept in the user's own cache folder even if `PELLUCID_CACHE_DIR` puts the files
        elsewhere. A folder that came from somebody else (in an archive, with a repository) then
        holds nothing that is trusted. If the user has no such folder, the key is stored beside the
        files.
        """
        for folder in (_default(_user(), *_places()), self):
            if folder is not None:
                with contextlib.suppress(OSError):
                    found = folder._own_key()
                    if found is not None:
                        return found
        return None

    def _own_key(self) -> bytes | None:
        for attempt in range(3):
            found = None
            with contextlib.suppress(FileNotFoundError, PermissionError):
                found = self.read(_KEY, private=True)
            if found is not None and len(found) == _CODE:
                return found
            if attempt:  # the key is damaged, or others could read it
                with contextlib.suppress(OSError):
                    self.remove(_KEY)
            self.write(_KEY, os.urandom(_CODE), replace=False)
        return None

    def __del__(self) -> None:
        if self.handle is not None:
            os.close(self.handle)


def _check(info: os.stat_result, what: str, private: bool = False) -> None:
    """Raise PermissionError unless a file or folder belongs to this user and nobody else can write
    to it (with `private`, nor read it).
    """
    user = _user()
    if user is None:  # on Windows a user's folders are private through the rights that they inherit
        return
    if info.st_uid != user:
        raise PermissionError(
            f"{what} belongs to another user (its owner is {info.st_uid}, this process runs as {user})"
        )
    if info.st_mode & (0o077 if private else 0o022):
        doing, mode = ("read", "600") if private else ("write to", "go-w")
        raise PermissionError(f"others can {doing} {what} (chmod {mode} makes it private)")


# ---- the folder of this process ----------------------------------------------------------------
def directory() -> Path | None:
    """The cache folder (`PELLUCID_CACHE_DIR`, or the platform's cache folder), or None where it
    cannot be used.
    """
    folder = _folder()
    return None if folder is None else folder.path


def problem() -> str | None:
    """Return why there is no usable cache folder, or None if there is one."""
    return _made(_user(), os.environ.get("PELLUCID_CACHE_DIR"), *_places())[1]


def _folder() -> _Folder | None:
    return _made(_user(), os.environ.get("PELLUCID_CACHE_DIR"), *_places())[0]


def _user() -> int | None:
    return os.geteuid() if hasattr(os, "geteuid") else None


def _places() -> tuple[str | None, ...]:
    return tuple(os.environ.get(name) for name in ("LOCALAPPDATA", "XDG_CACHE_HOME", "HOME"))


@functools.cache
def _made(
    user: int | None, chosen: str | None, *places: str | None
) -> tuple[_Folder | None, str | None]:
    """Return (folder, None) for these values of the environment, or (None, reason) if it cannot be
    used. Cached, since a program loads dozens of files.
    """
    try:
        folder = _Folder(Path(chosen) if chosen else _platform_folder())
    except PermissionError as error:
        # raised by `_check`: somebody else could have written code that would be executed
        if error.errno is None:
            warn_once(
                f"compiled code is not kept: {error}. Set PELLUCID_CACHE_DIR to a folder of your own."
            )
        return None, str(error)
    except (OSError, RuntimeError) as error:  # RuntimeError: no home folder
        return None, f"the folder cannot be made ({error})"
    return (
        (folder, None) if folder.key is not None else (None, f"no key can be kept in {folder.path}")
    )


@functools.cache
def _default(user: int | None, *places: str | None) -> _Folder | None:
    with contextlib.suppress(OSError, RuntimeError):
        return _Folder(_platform_folder())
    return None


def _platform_folder() -> Path:
    if sys.platform == "win32":
        return (
            Path(os.environ.get("LOCALAPPDATA", "") or Path.home() / "AppData" / "Local")
            / "pellucid"
            / "cache"
        )
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "pellucid"
    return Path(os.environ.get("XDG_CACHE_HOME", "") or Path.home() / ".cache") / "pellucid"


# ---- files -------------------------------------------------------------------------------------
def _code(key: bytes, name: str, payload: bytes) -> bytes:
    """Return the authentication code of `payload` stored under `name`."""
    return hmac.digest(key, name.encode() + b"\0" + payload, "sha256")


def load(key: str, suffix: str = ".o") -> bytes | None:
    """Return the bytes that this user stored under `key`; None if there are none, or if they have
    been changed.
    """
    folder = _folder()
    if folder is None or folder.key is None:
        return None
    name = key + suffix
    try:
        blob = folder.read(name)
    except OSError:
        return None
    head = len(_MAGIC)
    if blob is None or blob[:head] != _MAGIC:
        return None
    payload = blob[head + _CODE :]
    if not hmac.compare_digest(_code(folder.key, name, payload), blob[head : head + _CODE]):
        # truncated, overwritten or planted; the caller compiles again and replaces the file
        return None
    return payload


def store(key: str, payload: bytes, suffix: str = ".o") -> None:
    """Store `payload` under `key`. Failures are ignored, since they cost only speed."""
    folder = _folder()
    if folder is None or folder.key is None:
        return
    name = key + suffix
    try:
        try:
            folder.write(name, _MAGIC + _code(folder.key, name, payload) + payload)
        except FileNotFoundError:  # the folder has been removed since it was checked
            _made.cache_clear()
            _default.cache_clear()
            folder = _folder()
            if folder is None or folder.key is None:
                return
            folder.write(name, _MAGIC + _code(folder.key, name, payload) + payload)
    except OSError:  # a full or read-only disk only costs speed
        return
    # Listing all files takes longer than writing one, so it is done once in a while.
    global _written
    first, _written = _written is None, (_written or 0) + len(payload)
    if _written > CACHE_BYTES >> 6 or first and not folder.listed_lately():
        _written = 0
        _trim(folder)


_written: int | None = None  # bytes since the last `_trim`; None before the first file is stored


def _trim(folder: _Folder) -> None:
    """Remove the files that have not been used for the longest time if the folder is too large."""
    with contextlib.suppress(OSError):
        folder.write(_LISTED, b"")
    entries = folder.entries()
    total = sum(size for _, size, _ in entries)
    if total <= CACHE_BYTES:
        return
    for _, size, name in sorted(entries):
        if total <= CACHE_BYTES * 7 // 8:  # so that the next files fit
            return
        with contextlib.suppress(OSError):
            folder.remove(name)
        total -= size
