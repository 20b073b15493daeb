"""`torch.utils.benchmark`, and the refusals of `torch.utils.cpp_extension`."""

import pytest

import pellucid as torch
from pellucid.utils import benchmark, cpp_extension


def test_a_statement_is_measured_and_compared():
    timer = benchmark.Timer(
        "x + 1", "x = 1", label="add", sub_label="small", description="python", num_threads=1
    )
    found = timer.timeit(5)
    assert (found.number_per_run, len(found.times), found.title, found.as_row_name) == (
        5,
        1,
        "add: small",
        "small",
    )
    several = timer.blocked_autorange(min_run_time=1e-4)
    assert several.median > 0 and several.iqr >= 0 and len(several.times) >= 2
    table = benchmark.Compare([found])
    table.extend_results([several])
    assert all(
        word in str(table) for word in ("add", "small", "python", "1 threads", "Times are in ")
    )
    with pytest.raises(ValueError, match="Expected an instance of `Measurement`"):
        table.extend_results([3])


def test_a_statement_sees_the_library_as_torch():
    assert benchmark.Timer("torch.ones(1)").timeit(1).median > 0


def test_extensions_in_c_plus_plus_refuse_by_name():
    for name in ("load", "load_inline", "CppExtension", "CUDAExtension"):
        with pytest.raises(
            RuntimeError, match=f"torch.utils.cpp_extension.{name} is not supported"
        ):
            getattr(cpp_extension, name)("mine", [])
    with pytest.raises(RuntimeError, match="BuildExtension is not supported"):
        cpp_extension.BuildExtension.with_options(use_ninja=False)()
    assert cpp_extension.is_ninja_available() in (True, False)
    assert torch.utils.cpp_extension is cpp_extension
