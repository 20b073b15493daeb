"""In-place operators leave operands of other kinds to the operands' own methods."""

import pytest

import pellucid as torch

NAMES = "add sub mul truediv floordiv mod pow and or xor lshift rshift".split()


class Foreign:
    def __radd__(self, other):
        return "mine"


@pytest.mark.parametrize("name", NAMES)
def test_not_implemented(name):
    for x in (torch.ones(2), torch.ones(2, dtype=torch.int64)):
        for other in (Foreign(), "a", None):
            assert getattr(x, f"__i{name}__")(other) is NotImplemented


def test_python_asks_the_other():
    x = torch.ones(2)
    x += Foreign()
    assert x == "mine"
    x = torch.ones(2)
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \*=: 'Tensor' and"):
        x *= None
