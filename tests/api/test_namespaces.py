"""Small namespaces: torch.cpu, torch.accelerator, torch.functional, torch.storage,
torch.nn.attention.
"""

import pickle

import pytest

import pellucid as torch
from pellucid.nn.attention import SDPBackend, sdpa_kernel


def test_there_is_no_accelerator():
    assert not torch.accelerator.is_available() and torch.accelerator.device_count() == 0
    assert torch.accelerator.current_accelerator() is None
    with pytest.raises(
        RuntimeError, match="^Cannot access accelerator device when none is available."
    ):
        torch.accelerator.synchronize()


def test_the_processor_is_one_device_with_nothing_pending():
    assert (
        torch.cpu.is_available()
        and torch.cpu.device_count() == 1
        and torch.cpu.current_device() == "cpu"
    )
    with torch.cpu.stream(torch.cpu.Stream()):
        assert torch.cpu.current_stream() is torch.cpu.current_stream()
        assert torch.cpu.current_stream().record_event().query()
    torch.cpu.synchronize()


def test_second_names_are_the_same_objects():
    # Equal, not identical: once a tensor type takes functions over, torch's own are the dispatching
    # ones.
    assert torch.einsum == torch.functional.einsum and torch.stft == torch.functional.stft
    assert torch.storage.UntypedStorage is torch.UntypedStorage


def test_every_choice_of_kernel_gives_the_same_attention():
    q = torch.arange(8.0).reshape(1, 2, 4)
    plain = torch.nn.functional.scaled_dot_product_attention(q, q, q)
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]):
        assert torch.equal(torch.nn.functional.scaled_dot_product_attention(q, q, q), plain)
    with pytest.raises(AssertionError), sdpa_kernel("math"):
        pass


def test_functions_of_nn_functional_pickle_under_its_name():
    functional = torch.nn.functional
    for name in ("silu", "mse_loss", "interpolate", "multi_head_attention_forward"):
        function = getattr(functional, name)
        assert function.__module__ == "pellucid.nn.functional", name
        assert pickle.loads(pickle.dumps(function)) is function
    # PyTorch's torch.nn.functional.conv1d is torch.conv1d
    assert functional.conv1d is torch.conv1d is pickle.loads(pickle.dumps(torch.conv1d))
    assert functional.conv1d.__module__ == "pellucid"
