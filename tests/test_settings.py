"""Settings, tensor types by name, and namespaces of devices that are not there."""

import math

import pytest

import pellucid as torch


def test_settings_are_remembered():
    assert not torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        assert torch.are_deterministic_algorithms_enabled()
        assert torch.get_deterministic_debug_mode() == 1
    finally:
        torch.use_deterministic_algorithms(False)
    with pytest.raises(RuntimeError, match="invalid value of debug_mode, expected one of"):
        torch.set_deterministic_debug_mode("x")
    with pytest.warns(UserWarning, match="low is not one of 'highest', 'high', or 'medium'; the"):
        torch.set_float32_matmul_precision("low")
    assert torch.get_float32_matmul_precision() == "highest"
    with pytest.raises(RuntimeError, match="expects a positive integer"):
        torch.set_num_threads(0)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)


def test_types_by_name():
    assert isinstance(torch.ones(2), torch.FloatTensor)
    assert not isinstance(torch.ones(2).double(), torch.FloatTensor)
    assert torch.LongTensor([1, 2]).dtype is torch.int64
    assert torch.DoubleTensor(2, 3).shape == (2, 3)
    assert torch.ones(2).type(torch.IntTensor).dtype is torch.int32
    assert torch.is_storage(torch.FloatStorage(3))
    with pytest.raises(TypeError, match="expected TensorOptions\\(dtype=float"):
        torch.FloatTensor(torch.ones(2).double())
    try:
        torch.set_warn_always(True)  # another test may have had the warning, which comes once
        with pytest.warns(UserWarning, match="deprecated"):
            torch.set_default_tensor_type(torch.DoubleTensor)
        assert torch.ones(1).dtype is torch.float64
    finally:
        torch.set_warn_always(False)
        torch.set_default_dtype(torch.float32)


def test_no_device():
    for where in (torch.cuda, torch.mps, torch.xpu):
        assert not where.is_available()
        assert where.device_count() == 0
        where.manual_seed(0)
        with pytest.raises((AssertionError, RuntimeError)):
            where.synchronize()
    with pytest.raises(RuntimeError, match="torch.cuda.Stream requires CUDA support"):
        torch.cuda.Stream()
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        torch.cuda.set_sync_debug_mode("warn")
    with torch.cuda.stream(None), torch.cuda.device_of(torch.ones(1)):
        assert torch.cuda.memory.max_memory_reserved() == 0 == len(torch.cuda.host_memory_stats())
    assert not isinstance(torch.ones(1).untyped_storage(), torch.cuda.FloatStorage)
    with pytest.raises(AssertionError, match="Torch not compiled with XPU enabled"):
        torch.xpu.set_per_process_memory_fraction(0.5)
    assert torch.version.cuda is None
    assert (torch.inf, torch.pi, torch.newaxis) == (math.inf, math.pi, None)
    assert "NumPy" in torch.__config__.show()
    assert torch.return_types.max is type(torch.ones(2, 2).max(0))


def test_devices_as_contexts():
    with torch.device("meta"):
        assert torch.empty(2).is_meta
    torch.set_default_device("meta")
    try:
        assert torch.get_default_device() == torch.device("meta")
        assert torch.zeros(2).is_meta
    finally:
        torch.set_default_device(None)
    assert not torch.zeros(2).is_meta


def test_forked_streams():
    torch.manual_seed(3)
    first = torch.rand(2).tolist()
    torch.manual_seed(3)
    with torch.random.fork_rng():
        torch.rand(9)
    assert torch.rand(2).tolist() == first
    state = torch.random.get_rng_state()
    assert state.dtype is torch.uint8
    second = torch.rand(2).tolist()
    torch.random.set_rng_state(state)
    assert torch.rand(2).tolist() == second
