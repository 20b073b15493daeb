"""Factories: options, devices, memory order, random numbers."""

import pickle

import numpy as np
import pytest

import pellucid as torch
from pellucid.dtypes import ALL


@pytest.mark.parametrize("make", [torch.zeros, torch.ones, torch.empty, torch.rand, torch.randn])
def test_the_ways_to_give_a_size(make):
    for tensor in (
        make(2, 3),
        make((2, 3)),
        make([2, 3]),
        make(torch.Size([2, 3])),
        make(size=(2, 3)),
        make(np.int64(2), 3),
    ):
        assert tensor.shape == (2, 3)
        assert tensor.dtype is torch.float32


@pytest.mark.parametrize(
    "make",
    [torch.zeros, torch.ones, torch.rand, lambda n, **kw: torch.full((n,), 1.0, **kw), torch.eye],
)
def test_meta_tensors_have_no_data(make):
    tensor = make(3, device="meta")
    assert tensor.is_meta
    assert tensor.device == torch.device("meta")


def test_a_device_block_moves_factories():
    with torch.device("meta"):
        made = [
            torch.zeros(2),
            torch.arange(3),
            torch.rand(2),
            torch.tensor([1.0]),
            torch.linspace(0, 1, 3),
            torch.eye(2),
        ]
        assert all(t.is_meta for t in made)
        assert not torch.zeros(2, device="cpu").is_meta
        with torch.device("cpu"):
            assert not torch.zeros(2).is_meta
        assert torch.get_default_device() == torch.device("meta")
    assert not torch.zeros(2).is_meta
    assert torch.get_default_device() == torch.device("cpu")


def test_a_device_is_a_decorator_too():
    @torch.device("meta")
    def make():
        return torch.ones(2)

    assert make().is_meta
    assert make.__name__ == "make"


def test_a_block_that_fails_gives_the_device_back():
    with (
        pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"),
        torch.device("cuda"),  # refused where a tensor is made
    ):
        assert torch.zeros(2, device="cpu").is_cpu
        torch.zeros(2)
    with pytest.raises(KeyError), torch.device("meta"):
        raise KeyError
    assert not torch.zeros(2).is_meta


def test_the_default_device_and_dtype():
    torch.set_default_device("meta")
    try:
        assert torch.zeros(2).is_meta
    finally:
        torch.set_default_device(None)
    torch.set_default_dtype(torch.float64)
    try:
        assert {
            t.dtype
            for t in (torch.zeros(2), torch.full((2,), 1.5), torch.arange(0.0, 2.0), torch.rand(1))
        } == {torch.float64}
        assert torch.full((2,), 1j).dtype is torch.complex128
    finally:
        torch.set_default_dtype(torch.float32)


def test_python_types_as_dtypes():
    assert [torch.zeros(1, dtype=d).dtype for d in (float, int, bool)] == [
        torch.float64,
        torch.int64,
        torch.bool,
    ]


def test_like_functions_keep_the_order_of_memory():
    x = torch.empty(2, 3).t()
    assert torch.zeros_like(x).stride() == (1, 3)
    assert torch.randn_like(x).stride() == (1, 3)
    assert torch.zeros_like(x, memory_format=torch.contiguous_format).stride() == (2, 1)
    image = torch.empty(2, 3, 4, 5, memory_format=torch.channels_last)
    assert image.stride() == (60, 1, 15, 3)
    assert torch.ones_like(image).stride() == (60, 1, 15, 3)


def test_requires_grad_of_factories():
    assert torch.ones(2, requires_grad=True).requires_grad
    with pytest.raises(
        RuntimeError, match="Only Tensors of floating point and complex dtype can require gradients"
    ):
        torch.arange(3, requires_grad=True)


def test_empty_strided():
    x = torch.empty_strided((2, 3), (1, 2))
    x.fill_(1)
    assert x.stride() == (1, 2)
    assert float(x.sum()) == 6
    assert torch.empty_permuted((2, 3, 5), (1, 0, 2)).stride() == (5, 10, 1)


def test_filling_is_recorded():
    x = torch.ones(3, requires_grad=True)
    v = torch.tensor(2.0, requires_grad=True)
    y = x * 3
    y[1:].fill_(v)
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 0.0, 0.0]
    assert v.grad.item() == 2.0


def test_zero_keeps_the_version_count():
    x = torch.ones(3)
    x.zero_()
    assert x._version == 1
    with pytest.raises(
        RuntimeError,
        match="a leaf Variable that requires grad is being used in an in-place operation.",
    ):
        torch.ones(2, requires_grad=True).zero_()


# ---- random numbers ---------------------------------------------------------------------------
def test_one_seed_gives_pytorchs_numbers():
    torch.manual_seed(0)
    assert torch.rand(3).tolist() == pytest.approx(
        [0.4962565899, 0.7682217956, 0.0884774327], abs=1e-9
    )
    torch.manual_seed(0)
    assert torch.randn(2).tolist() == pytest.approx([1.5409960747, -0.2934288979], abs=1e-9)
    torch.manual_seed(0)
    assert torch.randint(10, (4,)).tolist() == [4, 9, 3, 0]


def test_generators_are_streams_of_their_own():
    a, b = torch.Generator().manual_seed(3), torch.Generator()
    b.set_state(a.get_state())
    before = torch.get_rng_state()
    assert torch.equal(torch.rand(5, generator=a), torch.rand(5, generator=b))
    assert torch.equal(torch.get_rng_state(), before)
    assert a.get_state().dtype is torch.uint8
    c = pickle.loads(pickle.dumps(a))
    assert torch.equal(torch.randn(7, generator=a), torch.randn(7, generator=c))
    with pytest.raises(TypeError):
        torch.rand(2, generator=3)


def test_the_state_can_be_put_back():
    state = torch.get_rng_state()
    first = torch.rand(4)
    torch.set_rng_state(state)
    assert torch.equal(torch.rand(4), first)


@pytest.mark.parametrize(
    ("name", "args", "low", "high"),
    [
        ("uniform_", (2, 3), 2, 3),
        ("normal_", (0, 0.001), -1, 1),
        ("exponential_", (), 0, 100),
        ("random_", (5,), 0, 4),
        ("random_", (-3, -1), -3, -2),
        ("bernoulli_", (0.5,), 0, 1),
        ("geometric_", (0.5,), 1, 100),
        ("log_normal_", (0, 0.1), 0, 5),
    ],
)
def test_random_fills(name, args, low, high):
    torch.manual_seed(1)
    x = torch.full((50,), 1e9)
    assert getattr(x, name)(*args) is x
    assert low <= float(x.min()) <= float(x.max()) <= high
    assert len(set(x.tolist())) > 1
    assert x._version == 1


def test_fills_take_keywords():
    torch.manual_seed(0)
    x = torch.empty(4).uniform_(to=2, **{"from": 1})
    assert float(x.min()) >= 1
    with pytest.raises(TypeError):
        torch.empty(4).uniform_(high=2)
    with pytest.raises(
        TypeError, match='geometric_\\(\\) missing 1 required positional arguments: "p"'
    ):
        torch.empty(4).geometric_()


def test_a_random_fill_cuts_the_gradient():
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    y.normal_()
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.0]


def test_sampling_is_part_of_the_graph_with_no_slope():
    p = torch.full((3,), 0.5, requires_grad=True)
    torch.bernoulli(p).sum().backward()
    assert p.grad.tolist() == [0.0, 0.0, 0.0]


def test_normal_takes_tensors_and_numbers():
    assert torch.normal(torch.zeros(3), torch.zeros(3)).tolist() == [0.0, 0.0, 0.0]
    assert torch.normal(2.0, torch.zeros(2)).tolist() == [2.0, 2.0]
    assert torch.normal(1.0, 0.0, (2, 2)).tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_windows():
    assert torch.hann_window(4).tolist() == pytest.approx([0, 0.5, 1, 0.5])
    assert torch.signal.windows.hann(5).tolist() == pytest.approx([0, 0.5, 1, 0.5, 0])
    assert torch.hamming_window(0).shape == (0,)
    assert torch.kaiser_window(1).tolist() == [1.0]
    with pytest.raises(ValueError, match="Tau must be positive"):
        torch.signal.windows.exponential(3, tau=-1)


def test_deterministic_algorithms_fill_new_memory():
    from pellucid.utils import deterministic

    torch.use_deterministic_algorithms(True)
    try:
        assert deterministic.fill_uninitialized_memory is True
        assert torch.empty(2).isnan().all() and torch.empty(1, dtype=torch.int8).item() == 127
        assert torch.empty(1, dtype=torch.bool).item() is True
        a = torch.ones(2)
        for made in (
            torch.empty_like(a),
            a.new_empty(2),
            torch.empty_strided((2, 2), (1, 2)),
            torch.empty_permuted((2, 2), (1, 0)),
            torch.Tensor(2),
        ):
            assert made.isnan().all()
        assert a.resize_(4).isnan().tolist() == [False, False, True, True]
        deterministic.fill_uninitialized_memory = False
        assert torch.ones(3).new_empty(3).shape == (3,)
        with pytest.raises(RuntimeError, match="expected a bool, but got int"):
            deterministic.fill_uninitialized_memory = 1
    finally:
        deterministic.fill_uninitialized_memory = True
        torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("count", [3, 300])
def test_zeros_written_in_place_are_bytes_of_zero_in_every_dtype(count):
    kinds = [kind for kind in ALL if not kind.is_complex]
    assert torch.float8_e8m0fnu in kinds and torch.bfloat16 in kinds
    for kind in kinds:
        x = torch.ones(count, dtype=kind)
        assert x.zero_() is x
        assert not any(x._array.tobytes()), kind
