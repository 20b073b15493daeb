"""`torch.hub` without the network: models from local folders and files that are already there.
Nothing is downloaded.
"""

from __future__ import annotations

import errno
import importlib
import importlib.util
import os
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn
from urllib.parse import urlparse

from .errors import UnsupportedError
from .serialization import load as _load_file

__all__ = [
    "download_url_to_file",
    "get_dir",
    "help",
    "list",
    "load",
    "load_state_dict_from_url",
    "set_dir",
]

_chosen: str | None = None


def __getattr__(name: str) -> Any:
    if name == "tqdm":  # libraries take the bar for downloads from here
        return importlib.import_module(name).tqdm
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def urlopen(url: Any, *args: Any, **options: Any) -> NoReturn:
    """Refuse: nothing is downloaded."""
    raise UnsupportedError(
        f"torch.hub.urlopen({url!r}): nothing is downloaded; put the file where torch.hub.get_dir() says"
    )


HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")  # the beginning of a file's SHA-256 in its name


def _get_torch_home() -> str:
    """The folder of downloaded things: `TORCH_HOME`, else `XDG_CACHE_HOME/torch`, else
    `~/.cache/torch`.
    """
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join("~", ".cache")
    return os.path.expanduser(os.environ.get("TORCH_HOME") or os.path.join(cache, "torch"))


def get_dir() -> str:
    """Return the folder for hub files.

    This is the folder given to `set_dir`. Without one it is `$TORCH_HOME/hub`, `$XDG_CACHE_HOME/torch/hub` or
    `~/.cache/torch/hub`, depending on which variables are set.

    >>> import pellucid as torch
    >>> torch.hub.get_dir()
    '...hub'
    """
    return _chosen if _chosen is not None else os.path.join(_get_torch_home(), "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Set the folder that `get_dir` returns. Nothing is created.

    >>> import pellucid as torch
    >>> before = torch.hub.get_dir()
    >>> torch.hub.set_dir("models")
    >>> torch.hub.get_dir()
    'models'
    >>> torch.hub.set_dir(before)
    """
    global _chosen
    _chosen = os.path.expanduser(os.fspath(d))


def download_url_to_file(
    url: str, dst: str, hash_prefix: str | None = None, progress: bool = True
) -> NoReturn:
    """Not supported.

    Raises:
        NotImplementedError: always; nothing is downloaded.

    >>> import pellucid as torch
    >>> torch.hub.download_url_to_file("https://example.com/weights.pt", "weights.pt")
    Traceback (most recent call last):
        ...
    NotImplementedError: torch.hub.download_url_to_file is not supported: nothing is downloaded...
    """
    raise UnsupportedError(
        "torch.hub.download_url_to_file is not supported: nothing is downloaded",
        hint=f"fetch {url} to {dst} yourself",
    )


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = True,
) -> Any:
    """Load the file named by the last part of a URL from a local folder. Nothing is downloaded: the file must be there already.

    Args:
        url: the address; only the file's name matters.
        model_dir: the folder. Default: `checkpoints` in the folder for hub files.
        map_location, weights_only: as for `torch.load`.
        progress, check_hash: accepted.
        file_name: the file's name, if it differs from that in the URL.

    Raises:
        NotImplementedError: the file is not there; the message says where to put it.

    >>> import pellucid as torch
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     torch.save({"weight": torch.ones(2)}, f"{folder}/net.pth")
    ...     print(torch.hub.load_state_dict_from_url("https://example.com/net.pth", folder))
    {'weight': tensor([1., 1.])}
    """
    path = Path(model_dir or os.path.join(get_dir(), "checkpoints")) / (
        file_name or os.path.basename(urlparse(url).path)
    )
    if not path.is_file():
        raise UnsupportedError(
            "torch.hub.load_state_dict_from_url is not supported for files that are not there yet: nothing is downloaded",
            hint=f"fetch {url} to {path} yourself",
        )
    return _load_file(path, map_location=map_location, weights_only=weights_only)


# ---- local folders with a hubconf.py -----------------------------------------------------------
def _hubconf(name: str, folder: Any, source: str) -> ModuleType:
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source == "github":
        raise UnsupportedError(
            f"torch.hub.{name} is not supported for source='github': nothing is downloaded",
            hint="clone the repository and pass its folder with source='local'",
        )
    path = Path(os.fspath(folder)).expanduser() / "hubconf.py"
    if not path.is_file():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path.absolute()))
    spec = importlib.util.spec_from_file_location("hubconf", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    missing = [
        package
        for package in getattr(module, "dependencies", [])
        if importlib.util.find_spec(package) is None
    ]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    return module


def _entry(module: ModuleType, model: str) -> Any:
    entry = getattr(module, model, None)
    if not callable(entry):
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return entry


def load(
    repo_or_dir: Any,
    model: str,
    *args: Any,
    source: str = "github",
    trust_repo: Any = None,
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    r"""Call an entry of the `hubconf.py` in a local folder. Nothing is downloaded.

    Args:
        repo_or_dir: the folder that has `hubconf.py`.
        model: the name of the entry, a function in it.
        source: "local"; PyTorch's default "github" is refused.
        args, kwargs: arguments of the entry.
        trust_repo, force_reload, verbose, skip_validation: accepted.

    Raises:
        NotImplementedError: `source` is "github".
        RuntimeError: the entry or a dependency is missing.

    >>> import pellucid as torch
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> text = "import pellucid\ndef tiny(n):\n    'A layer of n units.'\n    return pellucid.nn.Linear(n, n)\n"
    >>> _ = pathlib.Path(folder.name, "hubconf.py").write_text(text)
    >>> torch.hub.list(folder.name, source="local")
    ['tiny']
    >>> torch.hub.help(folder.name, "tiny", source="local")
    'A layer of n units.'
    >>> torch.hub.load(folder.name, "tiny", 3, source="local")
    Linear(in_features=3, out_features=3, bias=True)
    >>> folder.cleanup()
    """
    return _entry(_hubconf("load", repo_or_dir, source), model)(*args, **kwargs)


def help(
    github: Any,
    model: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: Any = None,
    *,
    source: str = "github",
) -> str | None:
    """Return the docstring of an entry of `hubconf.py`; `load` has an example.

    >>> import os, tempfile
    >>> import pellucid as torch
    >>> folder = tempfile.TemporaryDirectory()
    >>> with open(os.path.join(folder.name, "hubconf.py"), "w") as file:
    ...     _ = file.write("def small():\\n    'A small model.'\\n    return 1\\n")
    >>> torch.hub.help(folder.name, "small", source="local")
    'A small model.'
    >>> folder.cleanup()
    """
    return _entry(_hubconf("help", github, source), model).__doc__


def list(
    github: Any,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: Any = None,
    verbose: bool = True,
    *,
    source: str = "github",
) -> Any:
    """Return the names of the entries of `hubconf.py`; `load` has an example.

    >>> import os, tempfile
    >>> import pellucid as torch
    >>> folder = tempfile.TemporaryDirectory()
    >>> with open(os.path.join(folder.name, "hubconf.py"), "w") as file:
    ...     _ = file.write("def small():\\n    'A small model.'\\n    return 1\\n")
    >>> torch.hub.list(folder.name, source="local")
    ['small']
    >>> folder.cleanup()
    """
    module = _hubconf("list", github, source)
    return [
        name for name in dir(module) if callable(getattr(module, name)) and not name.startswith("_")
    ]
