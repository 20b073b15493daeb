"""The full text of errors, kept in golden/ and reviewed when it changes: PELLUCID_UPDATE_GOLDEN=1
writes the files anew.

Each case is checked for class and first line (PyTorch's) here, and for the explanation in its file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import pellucid as torch
import pellucid.nn as nn
import pellucid.nn.functional as F
from pellucid.errors import full_text

GOLDEN = Path(__file__).parent / "golden"
CASES: dict[str, tuple[type[BaseException], str, Callable[[], object]]] = {}


def case(kind: type[BaseException], first_line: str):
    def register(function: Callable[[], object]) -> Callable[[], object]:
        CASES[function.__name__] = (kind, first_line, function)
        return function

    return register


@case(
    RuntimeError,
    "The size of tensor a (3) must match the size of tensor b (2) at non-singleton dimension 1",
)
def broadcast_mismatch():
    prediction = torch.ones(2, 3) * 2
    return prediction + torch.ones(3, 2)


@case(RuntimeError, "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)")
def matmul_mismatch():
    return torch.ones(2, 3) @ torch.ones(2, 3)


class Convolutional(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU())
        self.head = nn.Linear(8, 10)

    def forward(self, x):
        return self.head(self.features(x))


@case(RuntimeError, "mat1 and mat2 shapes cannot be multiplied (8x2 and 8x10)")
def missing_flatten():
    return Convolutional()(torch.ones(2, 1, 4, 4))


@case(
    RuntimeError,
    "Given groups=1, weight of size [2, 1, 3, 3], expected input[2, 4, 4, 1] to have 1 channels, but got 4 channels instead",
)
def channels_last_image():
    return Convolutional()(torch.ones(2, 4, 4, 1))


@case(RuntimeError, "shape '[4, 2]' is invalid for input of size 6")
def invalid_reshape():
    return torch.ones(6).reshape(4, 2)


@case(
    RuntimeError,
    "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous subspaces). "
    "Use .reshape(...) instead.",
)
def view_of_permuted():
    images = torch.ones(2, 3, 4, 4)
    last = images.permute(0, 2, 3, 1)
    return last.view(2, -1)


@case(IndexError, "Dimension out of range (expected to be in range of [-2, 1], but got 2)")
def dimension_out_of_range():
    return torch.ones(2, 3).sum(dim=2)


@case(IndexError, "index 5 is out of bounds for dimension 0 with size 2")
def index_out_of_range():
    return torch.ones(2, 3)[5]


@case(IndexError, "index out of range in self")
def embedding_out_of_range():
    return nn.Embedding(4, 2)(torch.tensor([0, 9]))


@case(IndexError, "Target 3 is out of bounds.")
def label_out_of_range():
    return F.cross_entropy(torch.zeros(2, 3), torch.tensor([0, 3]))


@case(ValueError, "Expected input batch_size (4) to match target batch_size (3).")
def label_batch():
    return F.cross_entropy(torch.zeros(4, 3), torch.tensor([0, 1, 2]))


@case(RuntimeError, "expected target dtype to be Long or Byte, but got Float")
def label_dtype():
    return F.cross_entropy(torch.zeros(2, 3), torch.tensor([0.0, 1.0]))


@case(
    ValueError, "Target size (torch.Size([2])) must be the same as input size (torch.Size([2, 1]))"
)
def bce_shapes():
    return F.binary_cross_entropy_with_logits(torch.zeros(2, 1), torch.zeros(2))


@case(
    ValueError,
    "Expected more than 1 value per channel when training, got input size torch.Size([1, 4])",
)
def batch_norm_of_one():
    return nn.BatchNorm1d(4)(torch.ones(1, 4))


@case(RuntimeError, "grad can be implicitly created only for scalar outputs")
def non_scalar_backward():
    (torch.ones(3, requires_grad=True) * 2).backward()


@case(RuntimeError, "element 0 of tensors does not require grad and does not have a grad_fn")
def nothing_requires_grad():
    torch.ones(3).sum().backward()


@case(
    RuntimeError,
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). Saved "
    "intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to "
    "backward through the graph a second time or if you need to access saved tensors after calling backward.",
)
def second_backward():
    x = torch.ones(2, requires_grad=True)
    loss = (x * x).sum()
    loss.backward()
    loss.backward()


@case(
    RuntimeError,
    "one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor [2]], which is "
    "output 0 of Exp, is at version 1; expected version 0 instead. Hint: enable anomaly detection to find the operation that failed to "
    "compute its gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False).",
)
def overwritten_value():
    x = torch.ones(2, requires_grad=True)
    y = torch.exp(x)
    y.mul_(2)
    y.sum().backward()


@case(RuntimeError, "a leaf Variable that requires grad is being used in an in-place operation.")
def leaf_in_place():
    weight = torch.ones(2, requires_grad=True)
    weight -= 0.1


@case(RuntimeError, "result type Float can't be cast to the desired output type Long")
def in_place_dtype():
    counts = torch.zeros(2, dtype=torch.long)
    counts += 0.5


@case(RuntimeError, "output with shape [1, 3] doesn't match the broadcast shape [2, 3]")
def in_place_shape():
    row = torch.zeros(1, 3)
    row += torch.ones(2, 3)


@case(RuntimeError, "only Tensors of floating point dtype can require gradients")
def integer_requires_grad():
    torch.tensor([1, 2]).requires_grad_()


@case(NotImplementedError, "\"log_softmax_lastdim_kernel_impl\" not implemented for 'Long'")
def swapped_cross_entropy():
    return F.cross_entropy(torch.tensor([1, 2]), torch.ones(2, 3))


@case(RuntimeError, "a Tensor with 3 elements cannot be converted to Scalar")
def item_of_many():
    return torch.ones(3).item()


@case(RuntimeError, "Boolean value of Tensor with more than one value is ambiguous")
def truth_of_many():
    return bool(torch.ones(3) > 0)


@case(
    RuntimeError,
    "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.",
)
def numpy_of_recorded():
    return torch.ones(1, requires_grad=True).numpy()


@case(
    RuntimeError,
    "The differentiated Tensor at index 0 appears to not have been used in the graph. Set allow_unused=True if this is the desired behavior.",
)
def unused_input():
    x, y = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    return torch.autograd.grad(x.sum(), y)


@case(AssertionError, "Torch not compiled with CUDA enabled")
def cuda_is_not_there():
    return torch.zeros(1, device="cuda")


@case(TypeError, "add(): argument 'other' (position 2) must be Tensor, not str")
def add_of_text():
    return torch.add(torch.ones(1), "1")


@case(ValueError, "expected sequence of length 2 at dim 1 (got 1)")
def ragged_list():
    return torch.tensor([[1, 2], [3]])


@pytest.mark.parametrize("name", sorted(CASES))
def test_error(name):
    kind, first_line, function = CASES[name]
    with pytest.raises(kind) as caught:
        function()
    text = full_text(caught.value)
    assert text.splitlines()[0] == first_line
    # Paths differ from machine to machine; line numbers move with every edit above.
    shown = re.sub(r"\S*test_golden\.py:\d+", "test_golden.py:LINE", text) + "\n"
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("PELLUCID_UPDATE_GOLDEN"):
        path.write_text(shown)
    assert path.exists(), (
        f"no golden text for {name}: run with PELLUCID_UPDATE_GOLDEN=1 and review it"
    )
    assert shown == path.read_text()


def test_every_golden_text_has_a_case():
    assert {p.stem for p in GOLDEN.glob("*.txt")} == set(CASES)


WHOLE = torch.tensor([1])


def _assigned():
    WHOLE.requires_grad = True


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (_assigned, "only Tensors of floating point and complex dtype can require gradients"),
        (WHOLE.requires_grad_, "only Tensors of floating point dtype can require gradients"),
        *[
            (call, "Only Tensors of floating point and complex dtype can require gradients")
            for call in (
                lambda: torch.nn.Parameter(WHOLE),
                lambda: torch.nn.Linear(2, 2, dtype=torch.int32),
                lambda: torch.Tensor._make_subclass(torch.Tensor, WHOLE, True),
            )
        ],
    ],
)
def test_whole_numbers_require_no_gradients(call, text):
    with pytest.raises(RuntimeError) as caught:
        call()
    assert str(caught.value) == text
