"""Quantised tensors: rounding, what they answer, views, copies, files."""

import copy
import io
import pickle
import subprocess
import sys

import numpy as np
import pytest

import pellucid as torch
from pellucid.arrays import affine


def make(**kwargs):
    return torch.quantize_per_tensor(
        torch.tensor([-1.5, 0.0, 0.26, 2.5, 300.0]), 0.1, 10, torch.quint8, **kwargs
    )


def test_quantize_rounds_halves_to_even_after_the_zero_point():
    # 2.5 * 5 + 1 = 13.5, which is nearest to two integers; 14 is even.
    assert torch.quantize_per_tensor(
        torch.tensor([2.5]), 0.2, 1, torch.quint8
    ).int_repr().tolist() == [14]
    assert torch.quantize_per_tensor(
        torch.tensor([2.5]), 0.2, 0, torch.quint8
    ).int_repr().tolist() == [12]
    assert make().int_repr().tolist() == [0, 10, 13, 35, 255]


@pytest.mark.parametrize("size", [3, 200])
def test_what_is_not_finite(size):
    x = torch.tensor([float("nan"), float("inf"), -float("inf")] * size)
    assert torch.quantize_per_tensor(x, 0.1, 3, torch.quint8).int_repr()[:3].tolist() == [
        255,
        255,
        0,
    ]
    assert torch.quantize_per_tensor(x, 0.1, 3, torch.qint8).int_repr()[:3].tolist() == [
        127,
        127,
        -128,
    ]
    low, high = -(2**31), 2**31 - 1
    assert torch.quantize_per_tensor(x, 0.1, 3, torch.qint32).int_repr()[:3].tolist() == [
        low,
        high,
        low,
    ]


def test_native_and_numpy_round_alike(monkeypatch):
    x = np.random.default_rng(0).standard_normal(1000).astype(np.float32) * 20
    x[:200] = np.arange(200) * 0.25
    scheme = affine.Scheme.of(0.5, 7)
    native = affine.quantize(x, "quint8", scheme)
    back = affine.dequantize(native)
    monkeypatch.setattr(affine.products.native, "functions", lambda: None)
    assert (affine.quantize(x, "quint8", scheme).ints == native.ints).all()
    assert (affine.dequantize(native) == back).all()


def test_what_a_tensor_answers():
    q = make()
    assert (q.q_scale(), q.q_zero_point(), q.qscheme()) == (0.1, 10, torch.per_tensor_affine)
    assert (q.dtype, q.is_quantized, q.element_size(), q.type()) == (
        torch.quint8,
        True,
        1,
        "torch.quantized.QUInt8Tensor",
    )
    assert q.dequantize()[3] == 2.5
    with pytest.raises(RuntimeError, match="kPerChannelAffine"):
        q.q_per_channel_scales()
    with pytest.raises(
        NotImplementedError,
        match=r"^Could not run 'aten::q_scale' with arguments from the 'CPU' backend",
    ):
        torch.ones(2).q_scale()
    with pytest.raises(
        NotImplementedError,
        match=r"^Could not run 'aten::add.out' with arguments from the 'QuantizedCPU' backend",
    ):
        q + q
    for use, name in (
        (lambda: torch.median(q), "median"),
        (lambda: torch.round(q, decimals=1), "round.decimals_out"),
        (lambda: q & q, "bitwise_and.Tensor_out"),
        (lambda: torch.logical_not(q), "logical_not.out"),
        (lambda: torch.count_nonzero(q), "count_nonzero.dim_IntList"),
        (lambda: q.sum(), "sum.IntList_out"),
    ):
        with pytest.raises(NotImplementedError, match=f"^Could not run 'aten::{name}' with"):
            use()
    with pytest.raises(RuntimeError, match=r"^Quantize only works on Float Tensor, got Double"):
        torch.quantize_per_tensor(torch.ones(2, dtype=torch.float64), 0.1, 0, torch.quint8)
    with pytest.raises(RuntimeError, match=r"zero_point 300 is above upper bound\."):
        torch.quantize_per_tensor(torch.ones(2), 0.1, 300, torch.quint8)


def test_channels():
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    q = torch.quantize_per_channel(
        x, torch.tensor([0.5, 0.25]), torch.tensor([1, 2]), 0, torch.qint8
    )
    assert q.int_repr().tolist() == [[3, 5], [14, 18]]
    assert q.q_per_channel_scales().tolist() == [0.5, 0.25] and q.q_per_channel_axis() == 0
    assert torch.equal(q.dequantize(), x)
    assert q[1].q_scale() == 0.25
    with pytest.raises(
        RuntimeError, match="^Setting strides is possible only on uniformly quantized tensor"
    ):
        q.t()
    f = torch.quantize_per_channel(
        x, torch.tensor([0.5, 0.25]), torch.tensor([0.5, 1.0]), 0, torch.quint8
    )
    assert f.qscheme() is torch.per_channel_affine_float_qparams


def test_printing():
    assert repr(make()[2:4]) == (
        "tensor([0.3000, 2.5000], size=(2,), dtype=torch.quint8,\n"
        "       quantization_scheme=torch.per_tensor_affine, scale=0.1, zero_point=10)"
    )


def test_views_share_the_integers():
    q = make()
    part = q.view(5, 1)[1:3]
    part.fill_(2.0)
    assert q.int_repr().tolist() == [0, 30, 30, 35, 255]
    q[4] = 1.0
    assert q.int_repr()[4] == 20
    assert q.clone().data_ptr() != q.data_ptr() == q.detach().data_ptr()


def test_functions_that_choose_or_place():
    q = make()
    assert torch.cat([q, q]).shape == (10,)
    assert torch.relu(q).int_repr().tolist() == [10, 10, 13, 35, 255]
    assert torch.clamp(q, 0, 1).int_repr().tolist() == [10, 10, 13, 20, 20]
    assert q.max().item() == 24.5 and q.sort().indices.tolist() == [0, 1, 2, 3, 4]
    assert (q == q).all() and torch.equal(q, q.clone())
    assert torch.sigmoid(q).q_scale() == 1 / 256
    image = torch.quantize_per_tensor(torch.arange(16.0).view(1, 1, 4, 4), 1.0, 2, torch.quint8)
    assert torch.nn.functional.max_pool2d(image, 2).dequantize().flatten().tolist() == [
        5,
        7,
        13,
        15,
    ]
    # 7.5: a half goes to the even integer
    assert torch.nn.functional.adaptive_avg_pool2d(image, 1).dequantize().item() == 8


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("weights_only", [False, True])
def test_files(legacy, weights_only):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    given = {
        "q": torch.quantize_per_tensor(x, 0.5, 3, torch.quint8).t(),
        "c": torch.quantize_per_channel(
            x, torch.tensor([0.5, 0.25]), torch.tensor([1, 2]), 1, torch.qint8
        ),
        "f": torch.quantize_per_channel(
            x, torch.tensor([0.5, 0.25]), torch.tensor([0.5, 1.0]), 0, torch.quint8
        ),
        "p": torch.nn.Parameter(
            torch.quantize_per_tensor(x, 0.5, 0, torch.qint32), requires_grad=False
        ),
    }
    file = io.BytesIO()
    torch.save(given, file, _use_new_zipfile_serialization=not legacy)
    file.seek(0)
    for read in (
        torch.load(file, weights_only=weights_only),
        copy.deepcopy(given),
        pickle.loads(pickle.dumps(given)),
    ):
        for name, q in given.items():
            assert (
                torch.equal(q, read[name])
                and q.stride() == read[name].stride()
                and type(q) is type(read[name])
            )


def test_a_file_with_a_scheme_that_does_not_fit_is_refused():
    q = torch.quantize_per_channel(
        torch.ones(2, 2), torch.ones(2), torch.zeros(2, dtype=torch.int64), 0, torch.qint8
    )
    q._array.scheme.axis = 5
    file = io.BytesIO()
    torch.save(q, file)
    file.seek(0)
    with pytest.raises(RuntimeError, match="length of scales"):
        torch.load(file)


def test_the_range_that_covers_values():
    x = torch.tensor([-1.0, 1.55])
    q = torch.quantize_per_tensor_dynamic(x, torch.quint8, False)
    assert (q.q_scale(), q.q_zero_point()) == ((float(np.float32(1.55)) + 1) / 255, 100)
    assert torch.quantize_per_tensor_dynamic(x * 0, torch.quint8, False).q_scale() == 0.1


def test_functions_are_handed_to_types_that_were_there_before():
    """The function that a `__torch_function__` gets is the public one, also when quantised tensors
    are loaded after the type was made.
    """
    program = """
import pellucid as torch
class Asked(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func
x = torch.ones(2).as_subclass(Asked)
assert torch.mean(x) is torch.mean
import pellucid.quantized
assert torch.mean(x) is torch.mean and torch.nn.functional.relu(x) is torch.nn.functional.relu
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)


@pytest.mark.parametrize("loaded", [False, True])
def test_what_functions_say_of_wrong_arguments_does_not_change_when_these_tensors_are_loaded(
    loaded,
):
    if loaded:
        torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8)
        torch.eye(2).to_sparse()
    with pytest.raises(TypeError, match=r"^mean\(\) received an invalid combination of arguments"):
        torch.mean()
    with pytest.raises(TypeError, match=r'^equal\(\) missing 2 required positional argument: "inp'):
        torch.equal(self=1)
    with pytest.raises(
        TypeError, match=r"^allclose\(\): argument 'input' \(position 1\) must be T"
    ):
        torch.allclose([1], torch.ones(1))
    with pytest.raises(AttributeError, match="'list' object has no attribute 'size'"):
        torch.nn.functional.adaptive_max_pool2d([1], 2)


def test_sums_with_a_factor_and_with_floats_are_refused_by_name():
    q = make()
    for function, name in ((torch.add, "add"), (torch.sub, "sub")):
        with pytest.raises(NotImplementedError, match=f"'aten::{name}.out'"):
            function(q, q, alpha=2)
    with pytest.raises(RuntimeError, match="Boolean alpha only supported for Boolean results"):
        torch.add(q, q, alpha=True)
    for wrong in (lambda: q + torch.ones(5), lambda: torch.add(q, 1.0, alpha=2)):
        with pytest.raises(RuntimeError, match="promoteTypes with quantized numbers is not"):
            wrong()
    with pytest.raises(NotImplementedError, match="'aten::maximum.out'"):
        torch.maximum(q, q)
    assert torch.promote_types(torch.quint8, torch.quint8) is torch.quint8
