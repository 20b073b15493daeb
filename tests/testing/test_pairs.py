"""The parts of `assert_close` that libraries build comparisons of their own from."""

import numpy as np
import pytest

import pellucid as torch
from pellucid.testing import _comparison as comparison

KINDS = (
    comparison.NonePair,
    comparison.BooleanPair,
    comparison.NumberPair,
    comparison.TensorLikePair,
)


def metas(actual, expected, kinds=KINDS, **options):
    return comparison.not_close_error_metas(actual, expected, pair_types=kinds, **options)


def test_each_difference_has_its_place():
    found = metas([1, {"a": torch.ones(2)}, None, 3.0], [2, {"a": torch.ones(2)}, None, 4.0])
    assert [(one.type, one.id) for one in found] == [(AssertionError, (0,)), (AssertionError, (3,))]
    assert found[0].msg == (
        "Scalars are not equal!\n\nExpected 2 but got 1.\nAbsolute difference: 1\nRelative difference: 0.5"
    )
    assert str(found[1].to_error()).endswith("\n\nThe failure occurred for item [3]")
    assert str(found[1].to_error("mine")) == "mine"
    assert str(found[1].to_error(lambda text: text[:7])) == "Scalars"


def test_containers_of_another_shape_and_unknown_kinds_raise_at_once():
    with pytest.raises(AssertionError, match=r"^The length of the sequences mismatch: 1 != 2$"):
        metas([1], [1, 2])
    with pytest.raises(TypeError, match="No comparison pair was able to handle inputs of type"):
        metas("a", "b")
    assert metas("a", "b", (comparison.ObjectPair,))[0].msg == "a != b"


def test_a_pair_of_a_library():
    class Images(comparison.TensorLikePair):
        def __init__(self, actual, expected, *, mean=False, **others):
            super().__init__(actual, expected, **others)
            self.mean = mean

        def compare(self):
            self._compare_attributes(self.actual, self.expected)
            actual, expected = self._equalize_attributes(self.actual, self.expected)
            if not self.mean:
                self._compare_values(actual, expected)
            elif (actual - expected).abs().mean() > 0.3:
                self._fail(AssertionError, "the means differ")

    far, near = torch.tensor([0.0, 1.0]), torch.tensor([0.5, 1.0])
    kinds = (comparison.NonePair, Images)
    assert metas(far, near, kinds, mean=True) == []
    assert metas(far, 1 - near, kinds, mean=True)[0].msg == "the means differ"
    assert "Mismatched elements: 1 / 2 (50.0%)" in metas(far, near, kinds)[0].msg
    assert metas(far, near.double(), kinds)[0].msg == (
        "The values for attribute 'dtype' do not match: torch.float32 != torch.float64."
    )


def test_tolerances():
    assert comparison.default_tolerances(torch.float32, torch.ones(1).half()) == (1e-3, 1e-5)
    assert comparison.get_tolerances(torch.float32, rtol=1, atol=2) == (1, 2)
    with pytest.raises(comparison.ErrorMeta) as caught:
        comparison.get_tolerances(torch.float32, rtol=1, atol=None)
    assert caught.value.type is ValueError
    with pytest.raises(TypeError, match="Expected a torch.Tensor or a torch.dtype"):
        comparison.default_tolerances(3)


def test_how_pairs_show():
    assert repr(comparison.ObjectPair("a", "b", id=(0,))) == (
        "ObjectPair(\n    id=(0,),\n    actual=a,\n    expected=b,\n)"
    )
    assert "    rtol=1e-07,\n" in repr(comparison.NumberPair(1, np.float64(2)))
    with pytest.raises(comparison.UnsupportedInputs):
        comparison.NumberPair(1, "a")
