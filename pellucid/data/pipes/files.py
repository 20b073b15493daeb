"""Pipes of files: `FileLister` finds them, `FileOpener` opens them, `StreamReader` reads them."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ...errors import warn
from .base import IterDataPipe, functional_datapipe
from .common import IterableWrapperIterDataPipe


class StreamWrapper:
    """A file that closes itself when nobody has it any more; everything else is the file's own."""

    def __init__(self, file_obj: Any, parent_stream: Any = None, name: str | None = None) -> None:
        self.file_obj, self.parent_stream, self.name, self.closed = (
            file_obj,
            parent_stream,
            name,
            False,
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["file_obj"], name)

    def close(self) -> None:
        """Close the file."""
        self.closed = True
        self.file_obj.close()

    def __enter__(self) -> StreamWrapper:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def __iter__(self) -> Iterator[Any]:
        yield from self.file_obj

    def __next__(self) -> Any:
        return next(self.file_obj)

    def __del__(self) -> None:
        if not self.__dict__.get("closed", True):
            self.close()

    def __repr__(self) -> str:
        return (
            f"StreamWrapper<{self.name}>"
            if self.name is not None
            else f"StreamWrapper<{self.file_obj!r}>"
        )


def _failed(error: OSError) -> None:
    warn(str(error), UserWarning)
    raise error


def _fits(name: str, masks: str | list[str]) -> bool:
    return not masks or any(
        fnmatch.fnmatch(name, mask) for mask in ([masks] if isinstance(masks, str) else masks)
    )


@functional_datapipe("list_files")
class FileListerIterDataPipe(IterDataPipe):
    """The paths of the files in folders, sorted.

    Args:
        root: a folder, several, or a pipe of them; a file stands for itself.
        masks: a shell pattern of names, or several.
        recursive: whether to look into folders below.
        abspath: absolute paths.
        non_deterministic: in the order of the file system.
        length: what `len` answers; -1: it is not known.
    """

    def __init__(
        self,
        root: str | Sequence[str] | IterDataPipe = ".",
        masks: str | list[str] = "",
        *,
        recursive: bool = False,
        abspath: bool = False,
        non_deterministic: bool = False,
        length: int = -1,
    ) -> None:
        roots = [root] if isinstance(root, str) else root
        self.datapipe = (
            roots if isinstance(roots, IterDataPipe) else IterableWrapperIterDataPipe(roots)
        )
        self.masks, self.recursive, self.abspath, self.non_deterministic, self.length = (
            masks,
            recursive,
            abspath,
            non_deterministic,
            length,
        )

    def __iter__(self) -> Iterator[str]:
        for root in self.datapipe:
            if os.path.isfile(root):
                if _fits(os.path.basename(root), self.masks):
                    yield os.path.abspath(root) if self.abspath else root
                continue
            for folder, below, files in os.walk(root, onerror=_failed):
                if self.abspath:
                    folder = os.path.abspath(folder)
                if not self.non_deterministic:
                    files.sort()
                    below.sort()
                yield from (os.path.join(folder, name) for name in files if _fits(name, self.masks))
                if not self.recursive:
                    break

    def __len__(self) -> int:
        return _told(self, self.length)


@functional_datapipe("open_files")
class FileOpenerIterDataPipe(IterDataPipe):
    """Pairs of a path and its open file.

    Args:
        mode: "r", "b", "t", "rb" or "rt".
        encoding: of texts.
        length: what `len` answers; -1: it is not known.
    """

    def __init__(
        self,
        datapipe: Iterable[str],
        mode: str = "r",
        encoding: str | None = None,
        length: int = -1,
    ) -> None:
        if mode not in ("b", "t", "rb", "rt", "r"):
            raise ValueError(f"Invalid mode {mode}")
        if "b" in mode and encoding is not None:
            raise ValueError("binary mode doesn't take an encoding argument")
        self.datapipe, self.mode, self.encoding, self.length = datapipe, mode, encoding, length

    def __iter__(self) -> Iterator[tuple[str, StreamWrapper]]:
        mode = self.mode if self.mode.startswith("r") else "r" + self.mode
        for path in self.datapipe:
            if not isinstance(path, str):
                raise TypeError(f"Expected string type for pathname, but got {type(path)}")
            yield path, StreamWrapper(open(path, mode, encoding=self.encoding))

    def __len__(self) -> int:
        return _told(self, self.length)


@functional_datapipe("read_from_stream")
class StreamReaderIterDataPipe(IterDataPipe):
    """Pairs of a name and what its file holds, or pieces of `chunk` of it."""

    def __init__(self, datapipe: Iterable[tuple[str, Any]], chunk: int | None = None) -> None:
        self.datapipe, self.chunk = datapipe, chunk

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        for name, stream in self.datapipe:
            try:
                while piece := stream.read(self.chunk):
                    yield name, piece
            finally:
                stream.close()


def _told(pipe: IterDataPipe, length: int) -> int:
    if length == -1:
        raise TypeError(f"{type(pipe).__name__} instance doesn't have valid length")
    return length
