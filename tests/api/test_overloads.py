"""Calls that fit no overload: PyTorch's words, with its signatures. The texts are PyTorch 2.13's."""

import numpy as np
import pytest

import pellucid as torch
from pellucid.api.messages.signatures import refusal

x = torch.ones(2, 3)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: torch.max(x, "a", True),
            (
                "max() received an invalid combination of arguments - got (Tensor, str, bool), but expected one of:\n"
                " * (Tensor input, *, Tensor out = None)\n"
                "      didn't match because some of the arguments have invalid types: (Tensor, !str!, !bool!)\n"
                " * (Tensor input, Tensor other, *, Tensor out = None)\n"
                " * (Tensor input, int dim, bool keepdim = False, *, tuple of Tensors out = None)\n"
            ),
        ),
        (
            lambda: torch.max(x, [1, 2], 3),
            (
                "max() received an invalid combination of arguments - got (Tensor, list, int), but expected one of:\n"
                " * (Tensor input, *, Tensor out = None)\n"
                "      didn't match because some of the arguments have invalid types: (Tensor, !list of [int, int]!, !int!)\n"
                " * (Tensor input, Tensor other, *, Tensor out = None)\n"
                " * (Tensor input, int dim, bool keepdim = False, *, tuple of Tensors out = None)\n"
            ),
        ),
        (
            lambda: torch.eq(np.int64(1), other="b"),
            (
                "eq() received an invalid combination of arguments - got (numpy.int64, other=str), but expected one of:\n"
                " * (Tensor input, Tensor other, *, Tensor out = None)\n"
                " * (Tensor input, Number other, *, Tensor out = None)\n"
            ),
        ),
        (
            lambda: torch.eq(input="a", other="b"),
            (
                "eq() received an invalid combination of arguments - got (other=str, input=str, ), but expected one of:\n"
                " * (Tensor input, Tensor other, *, Tensor out = None)\n"
                " * (Tensor input, Number other, *, Tensor out = None)\n"
            ),
        ),
        (
            lambda: x.eq("a"),
            (
                "eq() received an invalid combination of arguments - got (str), but expected one of:\n"
                " * (Tensor other)\n      didn't match because some of the arguments have invalid types: (!str!)\n"
                " * (Number other)\n      didn't match because some of the arguments have invalid types: (!str!)\n"
            ),
        ),
        (
            lambda: x.sum(dim=1.5),
            (
                "sum() received an invalid combination of arguments - got (dim=float, ), but expected one of:\n"
                " * (*, torch.dtype dtype = None)\n"
                " * (tuple of ints dim, bool keepdim = False, *, torch.dtype dtype = None)\n"
            ),
        ),
        (lambda: x.add("a"), "add(): argument 'other' (position 1) must be Tensor, not str"),
        (lambda: torch.add(x, "a"), "add(): argument 'other' (position 2) must be Tensor, not str"),
        (lambda: torch.add(x, other="a"), "add(): argument 'other' must be Tensor, not str"),
        (
            lambda: x.transpose("a", 1),
            "transpose(): argument 'dim0' (position 1) must be int, not str",
        ),
        (
            lambda: torch.transpose(x, 0, 1.5),
            "transpose(): argument 'dim1' (position 3) must be int, not float",
        ),
        (
            lambda: x.index_select("a", x),
            "index_select(): argument 'dim' (position 1) must be int, not str",
        ),
        (
            lambda: torch.linalg.det("a"),
            "linalg_det(): argument 'A' (position 1) must be Tensor, not str",
        ),
        (
            lambda: torch.fft.fftn("a"),
            "fft_fftn(): argument 'input' (position 1) must be Tensor, not str",
        ),
    ],
)
def test_what_no_overload_takes(call, text):
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value) == text


def test_without_the_source_of_the_call():
    scope = {"torch": torch, "x": x}
    with pytest.raises(TypeError, match=r"got \(str\), but expected one of:\n \* \(Tensor other\)"):
        exec("x.eq('a')", scope)
    with pytest.raises(
        TypeError,
        match=r"got \(Tensor, str\), but expected one of:\n \* \(Tensor input, Tensor other",
    ):
        exec("torch.eq(x, 'a')", scope)


def test_wrong_keywords_are_named():
    assert refusal("f", ["(Tensor a)", "(Tensor a, int b)"], [], {"c": 1}) == (
        "f() received an invalid combination of arguments - got (c=int, ), but expected one of:\n"
        " * (Tensor a)\n      didn't match because some of the keywords were incorrect: c\n"
        " * (Tensor a, int b)\n"
    )
    assert refusal("f", ["(Tensor a)"], [1, 2], {}) == (
        "f() received an invalid combination of arguments - got (int, int), but expected (Tensor a)"
    )


class Counted(torch.Tensor):
    """After the first call of such a tensor's `__torch_function__` all functions look for one."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return super().__torch_function__(function, types, args, kwargs or {})


def test_after_a_subclass_was_seen():
    torch.ones(2).as_subclass(Counted).add(1)
    with pytest.raises(
        TypeError,
        match=r"^max\(\) received an invalid combination of arguments - got \(Tensor, str, bool\)",
    ):
        torch.max(x, "a", True)
    with pytest.raises(
        TypeError, match=r"^eq\(\) received an invalid combination of arguments - got \(str\)"
    ):
        x.eq("a")


def test_as_subclass_is_never_taken_over():
    asked = []

    class Watched(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})

        def clone(self):
            return self.as_subclass(torch.Tensor).clone().as_subclass(type(self))

    x = torch.ones(2).as_subclass(Watched)
    assert type(x.as_subclass(torch.Tensor)) is torch.Tensor and not asked
    assert type(x.clone()) is Watched and not asked
    assert type(x + 1) is Watched and asked
