"""`assert_close` finds what differs, says where, and lets nothing through."""

import numpy as np
import pytest

import pellucid as torch
from pellucid.testing import assert_allclose, assert_close

T = torch.tensor
NAN, INF = float("nan"), float("inf")


def refusal(*args, **kwargs):
    with pytest.raises(AssertionError) as caught:
        assert_close(*args, **kwargs)
    return str(caught.value)


def test_the_report_names_share_place_and_size():
    assert refusal(T([1.0, 2.0, 3.0]), T([1.0, 2.5, 3.0])) == (
        "Tensor-likes are not close!\n\nMismatched elements: 1 / 3 (33.3%)\n"
        "Greatest absolute difference: 0.5 at index (1,) (up to 1e-05 allowed)\n"
        "Greatest relative difference: 0.20000000298023224 at index (1,) (up to 1.3e-06 allowed)"
    )


@pytest.mark.parametrize("actual, expected, options, start", [
    (T([1, 2]), T([1, 3]), {}, "Tensor-likes are not equal!\n\nMismatched elements: 1 / 2 (50.0%)\nGreatest absolute difference: 1 at index (1,)\n"),
    (T([255], dtype=torch.uint8), T([1], dtype=torch.uint8), {}, "Tensor-likes are not equal!"),
    (T(1.0), T(2.0), {}, "Scalars are not close!\n\nExpected 2.0 but got 1.0.\nAbsolute difference: 1.0 (up to 1e-05 allowed)"),
    (1, 2, {}, "Scalars are not equal!\n\nExpected 2 but got 1.\nAbsolute difference: 1\nRelative difference: 0.5"),
    (1, 1.0, {}, "The (d)types do not match: <class 'int'> != <class 'float'>."),
    (True, False, {}, "Booleans mismatch: True is not False"),
    (None, T(1.0), {}, "None mismatch: None is not 1.0"),
    (T([1]), T([1.0]), {}, "The values for attribute 'dtype' do not match: torch.int64 != torch.float32."),
    (T([1]), T([1, 2]), {}, "The values for attribute 'shape' do not match: torch.Size([1]) != torch.Size([2])."),
    (torch.zeros(2, 2), torch.zeros(2, 2).t(), {"check_stride": True}, "The values for attribute 'stride()' do not match"),
    (torch.zeros(2, device="meta"), torch.zeros(2), {}, "The values for attribute 'device' do not match: meta != cpu."),
    ([1], [1, 2], {}, "The length of the sequences mismatch: 1 != 2"),
    ({"a": 1}, {"b": 1}, {}, "The keys of the mappings do not match:\nMissing keys in the actual mapping: ['b']\n"),
    (T([NAN]), T([NAN]), {}, "Tensor-likes are not close!"),
    (T([INF]), T([-INF]), {}, "Tensor-likes are not close!"),
    (NAN, NAN, {}, "Scalars are not close!"),
    (INF, 1.0, {"rtol": 1.0, "atol": 1.0}, "Scalars are not close!"),
])  # fmt: skip
def test_differences(actual, expected, options, start):
    assert refusal(actual, expected, **options).startswith(start)


@pytest.mark.parametrize("actual, expected, options", [
    (T([1.0]), T([1.0 + 1e-6]), {}),
    (T([1]), T([1.0]), {"check_dtype": False}),
    (T([NAN]), T([NAN]), {"equal_nan": True}),
    (T([INF]), T([INF]), {}),
    (INF, INF, {}),
    (np.float64(1.0), 1.0, {}),
    (np.array([1.0]), np.array([1.0]), {}),
    ({"a": [T([1.0]), None, (2, True)]}, {"a": [T([1.0]), None, (2, True)]}, {}),
    (torch.nn.Parameter(T([1.0])), T([1.0]), {}),
    (torch.zeros(0, 2), torch.zeros(0, 2), {}),
    (T([1.0]), T([1.5]), {"rtol": 0, "atol": 0.5}),
])  # fmt: skip
def test_agreement(actual, expected, options):
    assert_close(actual, expected, **options)


def test_the_place_in_nested_containers_is_named():
    assert refusal({"a": [T([1.0]), T([2.0])]}, {"a": [T([1.0]), T([3.0])]}).endswith(
        "The failure occurred for item ['a'][1]"
    )


@pytest.mark.parametrize(
    "actual, expected",
    [
        ("a", "a"),
        (T([1.0]), 1.0),
        (T([1.0]), [1.0]),
        (object(), object()),
        (np.ones(1), torch.ones(1)),
    ],
)
def test_things_that_do_not_compare(actual, expected):
    with pytest.raises(TypeError, match="No comparison pair was able to handle inputs of type"):
        assert_close(actual, expected)


def test_subclasses_can_be_refused():
    with pytest.raises(TypeError, match="No comparison pair"):
        assert_close(torch.nn.Parameter(T([1.0])), T([1.0]), allow_subclasses=False)


def test_one_tolerance_is_not_enough():
    with pytest.raises(
        ValueError,
        match="Both 'rtol' and 'atol' must be either specified or omitted, but got no atol.",
    ):
        assert_close(T([1.0]), T([1.0]), rtol=0)


def test_own_message():
    assert refusal(T([1.0]), T([2.0]), msg="mine") == "mine"
    assert refusal(T([1.0]), T([2.0]), msg=lambda text: "mine: " + text).startswith(
        "mine: Tensor-likes are not close!"
    )


def test_nothing_is_recorded():
    x = T([1.0], requires_grad=True)
    assert_close(x, x.detach())
    assert x.grad is None


def test_the_older_form():
    with pytest.warns(FutureWarning, match="assert_allclose"):
        assert_allclose(T([1.0, NAN]), [1.00005, NAN])
    with pytest.warns(FutureWarning), pytest.raises(AssertionError, match="not close"):
        assert_allclose(T([1.0]), T([2.0]))
