"""`torch.utils.collect_env` asks the machine, and hooks that would be lost are warned of."""

import warnings

import pytest

import pellucid as torch
from pellucid.utils import collect_env, hooks


def test_a_command_gives_its_status_and_what_it_printed():
    assert collect_env.run("echo one; echo two >&2; exit 3") == (3, "one", "two")
    assert collect_env.run(["true"]) == (0, "", "")
    assert collect_env.run_and_read_all(collect_env.run, "echo one && false") is None


def test_what_is_parsed():
    said = {
        "gcc --version": (0, "gcc (Debian 12.2.0) 12.2.0\nmore", ""),
        "clang --version": (127, "", "not found"),
        "cmake --version": (0, "cmake version 3.25.1", ""),
    }
    ask = said.__getitem__
    assert collect_env.get_gcc_version(ask) == "(Debian 12.2.0) 12.2.0"
    assert collect_env.get_clang_version(ask) is None
    assert collect_env.get_cmake_version(ask) == "version 3.25.1"
    assert collect_env.run_and_return_first_line(lambda _: (0, "a\nb", ""), "x") == "a"


def test_the_report_says_what_computes():
    found = collect_env.get_env_info()
    assert found.torch_version.startswith("2.13.0+pellucid")
    assert found.is_cuda_available == "False" and found.cuda_compiled_version is None
    text = collect_env.get_pretty_env_info()
    assert text.startswith(f"Computed by: Pellucid {torch.__version__}")
    assert "CUDA used to build PyTorch: Could not collect" in text


def test_hooks_that_are_not_saved():
    x = torch.ones(2, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hooks.warn_if_has_hooks(x)
        x.register_hook(hooks.unserializable_hook(lambda g: g))
        hooks.warn_if_has_hooks(x)
    x.register_hook(lambda g: g)
    with pytest.warns(UserWarning, match="on tensor will not be serialized"):
        hooks.warn_if_has_hooks(x)
