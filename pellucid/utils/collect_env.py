"""`torch.utils.collect_env`: what bug reports and test suites ask about the machine.

`python -m pellucid run -m torch.utils.collect_env` prints it.

>>> import pellucid as torch
>>> "cpu_info" in torch.utils.collect_env.SystemEnv._fields
True
"""

from __future__ import annotations

import locale
import platform
import re
import subprocess
import sys
from collections import namedtuple
from collections.abc import Callable
from importlib import metadata
from typing import Any

from .._version import __version__
from ..interop.torch_alias import TORCH_VERSION

__all__ = ["SystemEnv", "get_env_info", "get_pretty_env_info", "main", "run"]

Run = Callable[[Any], tuple[int, str, str]]

SystemEnv = namedtuple(
    "SystemEnv",
    "torch_version is_debug_build cuda_compiled_version gcc_version clang_version cmake_version os "
    "libc_version python_version python_platform is_cuda_available cuda_runtime_version "
    "cuda_module_loading nvidia_driver_version nvidia_gpu_models cudnn_version is_xpu_available "
    "pip_version pip_packages conda_packages hip_compiled_version hip_runtime_version "
    "miopen_runtime_version caching_allocator_config is_xnnpack_available cpu_info",
)
SystemEnv.__doc__ = "What `get_env_info` finds, one field for each line of the report."

# Distributions whose versions a report names.
PIP_PATTERNS = {"torch", "numpy", "mypy", "flake8", "triton", "optree", "onnx", "pellucid"}


def run(command: Any) -> tuple[int, str, str]:
    """A command's exit status and what it printed, as text and as errors.

    >>> import pellucid as torch
    >>> torch.utils.collect_env.run("echo here")
    (0, 'here', '')
    """
    done = subprocess.run(command, shell=isinstance(command, str), capture_output=True)
    encoding = locale.getpreferredencoding(False)
    out, err = (text.decode(encoding, "replace").strip() for text in (done.stdout, done.stderr))
    return done.returncode, out, err


def run_and_read_all(run_lambda: Run, command: Any) -> str | None:
    """What a command prints, or None if it fails."""
    status, out, _ = run_lambda(command)
    return out if status == 0 else None


def run_and_parse_first_match(run_lambda: Run, command: Any, regex: str) -> str | None:
    """The first group of a pattern in what a command prints, or None."""
    found = re.search(regex, run_and_read_all(run_lambda, command) or "")
    return found and found[1]


def run_and_return_first_line(run_lambda: Run, command: Any) -> str | None:
    """The first line that a command prints, or None if it fails."""
    out = run_and_read_all(run_lambda, command)
    return out if out is None else out.split("\n")[0]


def get_gcc_version(run_lambda: Run) -> str | None:
    """The version of gcc, or None."""
    return run_and_parse_first_match(run_lambda, "gcc --version", r"gcc (.*)")


def get_clang_version(run_lambda: Run) -> str | None:
    """The version of clang, or None."""
    return run_and_parse_first_match(run_lambda, "clang --version", r"clang version (.*)")


def get_cmake_version(run_lambda: Run) -> str | None:
    """The version of CMake, or None."""
    return run_and_parse_first_match(run_lambda, "cmake --version", r"cmake (.*)")


def get_nvidia_driver_version(run_lambda: Run) -> str | None:
    """The version of NVIDIA's driver, or None."""
    command = "nvidia-smi --query-gpu=driver_version --format=csv,noheader"
    return run_and_return_first_line(run_lambda, command)


def get_gpu_info(run_lambda: Run) -> str | None:
    """The names of NVIDIA's devices, or None."""
    return run_and_read_all(run_lambda, "nvidia-smi --query-gpu=name --format=csv,noheader")


def get_cpu_info(run_lambda: Run) -> str:
    """The processor, as the system describes it."""
    return run_and_read_all(run_lambda, "lscpu") or platform.processor()


def get_platform() -> str:
    """ "linux", "darwin", "win32"."""
    return sys.platform


def get_os(run_lambda: Run) -> str:
    """The system's name and the kind of processor."""
    try:
        name = platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):  # not Linux
        name = platform.platform(terse=True)
    return f"{name} ({platform.machine()})"


def get_libc_version() -> str:
    """The C library, "N/A" where there is none to name."""
    return "-".join(platform.libc_ver()) if sys.platform == "linux" else "N/A"


def get_python_platform() -> str:
    """Python's description of the system."""
    return platform.platform()


def get_pip_packages(run_lambda: Run, patterns: Any = None) -> tuple[str, str]:
    """pip's name and the distributions that have to do with tensors, one a line."""
    wanted = PIP_PATTERNS if patterns is None else set(patterns)
    found = {
        f"{each.metadata['Name']}=={each.version}"
        for each in metadata.distributions()
        if any(part in (each.metadata["Name"] or "").lower() for part in wanted)
    }
    return "pip3", "\n".join(sorted(found))


def get_env_info() -> Any:
    """Everything the report holds, as a `SystemEnv`. What no device has is "N/A" or None."""
    pip_version, pip_packages = get_pip_packages(run)
    bits = sys.maxsize.bit_length() + 1
    return SystemEnv(
        torch_version=TORCH_VERSION,
        is_debug_build="False",
        cuda_compiled_version=None,
        gcc_version=get_gcc_version(run),
        clang_version=get_clang_version(run),
        cmake_version=get_cmake_version(run),
        os=get_os(run),
        libc_version=get_libc_version(),
        python_version=f"{' '.join(sys.version.split())} ({bits}-bit runtime)",
        python_platform=get_python_platform(),
        is_cuda_available="False",
        cuda_runtime_version=None,
        cuda_module_loading="N/A",
        nvidia_driver_version=get_nvidia_driver_version(run),
        nvidia_gpu_models=get_gpu_info(run),
        cudnn_version=None,
        is_xpu_available="False",
        pip_version=pip_version,
        pip_packages=pip_packages,
        conda_packages=None,
        hip_compiled_version="N/A",
        hip_runtime_version="N/A",
        miopen_runtime_version="N/A",
        caching_allocator_config={},
        is_xnnpack_available="False",
        cpu_info=get_cpu_info(run),
    )


_TITLES = (
    ("PyTorch version", "torch_version"),
    ("CUDA used to build PyTorch", "cuda_compiled_version"),
    ("OS", "os"),
    ("GCC version", "gcc_version"),
    ("Clang version", "clang_version"),
    ("CMake version", "cmake_version"),
    ("Libc version", "libc_version"),
    ("Python version", "python_version"),
    ("Python platform", "python_platform"),
    ("Is CUDA available", "is_cuda_available"),
    ("GPU models and configuration", "nvidia_gpu_models"),
    ("Nvidia driver version", "nvidia_driver_version"),
    ("CPU", "cpu_info"),
    ("Versions of relevant libraries", "pip_packages"),
)


def get_pretty_env_info() -> str:
    """The report as text: that Pellucid computes comes first."""
    found = get_env_info()
    lines = [f"Computed by: Pellucid {__version__}, in PyTorch's place"]
    for title, field in _TITLES:
        value = getattr(found, field)
        text = "Could not collect" if value is None else str(value)
        lines.append(f"{title}:\n{text}\n" if "\n" in text else f"{title}: {text}")
    return "\n".join(lines)


def main() -> None:
    """Print the report."""
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
