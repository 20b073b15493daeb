import ml_dtypes
import numpy as np
import pytest

from pellucid import devices, dtypes
from pellucid.core.display.formatting import (
    format_tensor,
    get_printoptions,
    printoptions,
    python_number,
    set_printoptions,
    tensor_str,
)

CASES = [
    (np.float32([1, 2.5]), "tensor([1.0000, 2.5000])"),
    (np.float32([1, 2, 300]), "tensor([  1.,   2., 300.])"),
    (np.float32([1e-5, 1]), "tensor([1.0000e-05, 1.0000e+00])"),
    (np.float32([0, np.nan, np.inf, -1]), "tensor([ 0., nan, inf, -1.])"),
    (np.float64(3), "tensor(3., dtype=torch.float64)"),
    (np.int64([[1, -2], [30, 4]]), "tensor([[ 1, -2],\n        [30,  4]])"),
    (np.uint8([1]), "tensor([1], dtype=torch.uint8)"),
    (np.array([True, False]), "tensor([ True, False])"),
    (np.complex64([1 - 2j, 0.5]), "tensor([1.0000-2.j, 0.5000+0.j])"),
    (np.zeros((0, 3), np.float32), "tensor([], size=(0, 3))"),
    (np.zeros(0, np.int64), "tensor([], dtype=torch.int64)"),
    (np.array([1.5], ml_dtypes.bfloat16), "tensor([1.5000], dtype=torch.bfloat16)"),
    (np.arange(2000), "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])"),
    (np.ones((1, 2, 1), np.float32), "tensor([[[1.],\n         [1.]]])"),
]


@pytest.mark.parametrize(("array", "text"), CASES, ids=range(len(CASES)))
def test_text(array, text):
    assert tensor_str(array) == text


def test_suffixes():
    x = np.float32([1])
    assert tensor_str(x, requires_grad=True) == "tensor([1.], requires_grad=True)"
    assert (
        tensor_str(x, requires_grad=True, grad_fn_name="MulBackward0")
        == "tensor([1.], grad_fn=<MulBackward0>)"
    )
    assert tensor_str(x, device=devices.meta) == "tensor(..., device='meta', size=(1,))"
    assert (
        tensor_str(x, device=devices.device("cuda:0"), to_host=np.array)
        == "tensor([1.], device='cuda:0')"
    )
    assert (
        tensor_str(x, class_name="Parameter", parameter=True)
        == "Parameter containing:\ntensor([1.])"
    )
    assert (
        tensor_str(x, class_name="Waves", tangent="tensor([2.])")
        == "Waves([1.], tangent=tensor([2.]))"
    )
    assert tensor_str(x, contents="here") == "tensor(here)"


def test_long_suffix_goes_to_its_own_line():
    text = tensor_str(np.arange(14, dtype=np.float32), grad_fn_name="AddBackward0")
    assert text.splitlines()[-1] == "       grad_fn=<AddBackward0>)"


def test_options_are_restored():
    before = get_printoptions()
    with printoptions(precision=1, sci_mode=True):
        assert tensor_str(np.float32([12.34])) == "tensor([1.2e+01])"
    assert get_printoptions() == before
    set_printoptions(profile="long")  # a word that is no profile changes nothing
    assert get_printoptions() == before


def test_default_dtype_is_not_named():
    dtypes.set_default_dtype(dtypes.float64)
    try:
        assert tensor_str(np.float64([1])) == "tensor([1.])"
        assert tensor_str(np.float32([1])) == "tensor([1.], dtype=torch.float32)"
    finally:
        dtypes.set_default_dtype(dtypes.float32)


def test_only_the_ends_are_brought_to_the_host():
    seen = []
    tensor_str(
        np.zeros((5000, 5000), np.int8), to_host=lambda part: seen.append(part.shape) or part
    )
    assert seen == [(6, 6)]


def test_format():
    assert format_tensor(np.asarray(2.5, ml_dtypes.bfloat16), ".2f", str) == "2.50"
    assert format_tensor(np.zeros(2), "", lambda: "text") == "text"
    with pytest.raises(TypeError, match="unsupported format string passed to Tensor.__format__"):
        format_tensor(np.zeros(2), ".2f", str)
    with pytest.raises(TypeError, match="unsupported format string"):
        format_tensor(np.zeros(()), ".2f", str, plain=False)
    assert type(python_number(np.asarray(1, ml_dtypes.float8_e5m2))) is float
