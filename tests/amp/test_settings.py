"""Autocast switched by functions instead of a block."""

import threading

import pytest

import pellucid as torch


def product():
    return (torch.ones(2, 2) @ torch.ones(2, 2)).dtype


def test_on_and_off():
    torch.set_autocast_enabled("cpu", True)
    try:
        assert (
            torch.is_autocast_enabled("cpu")
            and not torch.is_autocast_enabled()
            and product() == torch.bfloat16
        )
        torch.set_autocast_dtype("cpu", torch.float16)
        assert torch.get_autocast_dtype("cpu") == torch.float16 and product() == torch.float16
        with torch.autocast("cpu"):
            assert product() == torch.float16
            torch.set_autocast_enabled("cpu", False)
            assert product() == torch.float32
        assert product() == torch.float16, "the block restores what was before it"
        other = []
        thread = threading.Thread(target=lambda: other.append(product()))
        thread.start()
        thread.join()
        assert other == [torch.float32], "the setting is that of one thread"
    finally:
        torch.set_autocast_enabled("cpu", False)
        torch.set_autocast_dtype("cpu", torch.bfloat16)
    assert not torch.is_autocast_enabled("cpu") and product() == torch.float32
    with torch.autocast("cpu"):
        torch.set_autocast_enabled("cpu", False)
        torch.set_autocast_enabled("cpu", True)
        assert product() == torch.bfloat16
    assert product() == torch.float32


def test_cache_and_nesting():
    assert torch.is_autocast_cache_enabled()
    torch.set_autocast_cache_enabled(False)
    with torch.autocast("cpu"):
        assert not torch.is_autocast_cache_enabled()
    torch.set_autocast_cache_enabled(True)
    assert [torch.autocast_increment_nesting(), torch.autocast_decrement_nesting()] == [1, 0]


def test_other_devices_and_refusals():
    torch.set_autocast_enabled(True)
    assert torch.is_autocast_enabled("cuda") and product() == torch.float32
    torch.set_autocast_enabled(False)
    assert not torch.is_autocast_enabled()
    with pytest.raises(TypeError, match=r"argument 'enabled' \(position 2\) must be bool, not str"):
        torch.set_autocast_enabled("cpu", "x")
    with pytest.raises(RuntimeError, match="foo"):
        torch.set_autocast_enabled("foo", True)
    with pytest.raises(TypeError, match="must be torch.dtype"):
        torch.set_autocast_dtype("cpu", "half")


@pytest.mark.parametrize("kind", ["cpu", "ipu", "xla"])
def test_older_names(kind):
    with pytest.warns(
        DeprecationWarning,
        match=rf"torch.get_autocast_{kind}_dtype\(\) is deprecated. Please use torch.get_autocast_dtype",
    ):
        assert getattr(torch, f"get_autocast_{kind}_dtype")() in (torch.bfloat16, torch.float16)
    with pytest.warns(DeprecationWarning, match="is deprecated"):
        getattr(torch, f"set_autocast_{kind}_enabled")(True)
    with pytest.warns(DeprecationWarning, match="is deprecated"):
        assert getattr(torch, f"is_autocast_{kind}_enabled")()
    with pytest.warns(DeprecationWarning, match="is deprecated"):
        getattr(torch, f"set_autocast_{kind}_enabled")(False)
