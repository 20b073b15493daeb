"""Hints for mistakes with shapes, dtypes or indices, one rule for each error message.

A rule gets the `Case`: the tensors of the failed call by name, the module that was running, and the
words of the message. It returns a hint, or None if it has nothing to add. `case.mark` marks sizes
that do not match.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import combinations, permutations
from math import prod
from typing import Any

from ...core.tape import Node
from ...core.tensor import Tensor, node_of

Rule = Callable[["Case"], str | None]
_rules: list[tuple[str, Rule]] = []


class Case:
    """One failing call: `tensors` by name in order, `found` the groups of the sentence's pattern,
    `module` the module that ran.
    """

    def __init__(
        self,
        tensors: dict[str, Tensor],
        module: Any,
        sentence: str,
        op: str,
        values: dict[str, Any],
    ) -> None:
        self.tensors, self.module, self.sentence, self.op, self.values = (
            tensors,
            module,
            sentence,
            op,
            values,
        )
        self.found: tuple[str, ...] = ()
        self.dims: tuple[int, ...] = ()

    def shape(self, position: int) -> tuple[int, ...]:
        """The shape of a tensor by position; () when there are not so many."""
        shapes = [tuple(t._array.shape) for t in self.tensors.values()]
        return shapes[position] if position < len(shapes) else ()

    def numbers(self) -> list[int]:
        """The whole numbers among the pattern's groups."""
        return [
            int(text) for text in self.found if text is not None and text.lstrip("-").isdecimal()
        ]

    def mark(self, *dims: int) -> None:
        """Mark sizes, counted from the right (-1 is the last)."""
        self.dims = dims

    def option(self, name: str) -> Any:
        """An attribute of the module, or an argument of the call."""
        return self.values.get(name, getattr(self.module, name, None))


def rule(pattern: str) -> Callable[[Rule], Rule]:
    """Register a rule for sentences in which the pattern is found."""

    def register(function: Rule) -> Rule:
        _rules.append((pattern, function))
        return function

    return register


def advise(case: Case) -> str | None:
    """The hint of the first rule whose pattern the sentence has."""
    for pattern, function in _rules:
        match = re.search(pattern, case.sentence)
        if match:
            case.found = match.groups()
            return function(case)
    return None


def _text(shape: Any) -> str:
    return "(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"


def _times(shape: Any) -> str:
    return " x ".join(map(str, shape))


def _made_by(t: Tensor, *names: str) -> Node | None:
    """The node that made a tensor, when it is one of these operations."""
    node = node_of(t._node)
    return node if isinstance(node, Node) and node.op.name in names else None


def _shape_before(t: Tensor) -> tuple[int, ...] | None:
    """The shape that a tensor had before it was flattened, reshaped or viewed."""
    if (
        t._view is not None
        and t._view.chain[-1][0].name in ("view", "reshape", "unsafe_view")
        and len(t._view.chain) == 1
    ):
        return tuple(t._view.base._array.shape)
    node = _made_by(t, "view", "reshape", "unsafe_view")
    if node is None:
        return None
    edge = node.inputs[0]
    if isinstance(edge, Node) and not isinstance(edge.shape, list):
        return tuple(edge.shape)
    return tuple(edge._array.shape) if isinstance(edge, Tensor) else None


# ---- products ----------------------------------------------------------------------------------
@rule(r"mat1 and mat2 shapes cannot be multiplied \((\d+)x(\d+) and (\d+)x(\d+)\)")
def _product(case: Case) -> str | None:
    if case.op == "linear" and len(case.shape(1)) == 2:
        case.mark(-1)
        return _linear(case, case.shape(0), case.shape(1))
    rows, inner, inner2, columns = case.numbers()
    case.mark(-1, -2)
    if inner == columns:
        return f"the second operand looks transposed: a @ b.T is ({rows}, {inner}) @ ({columns}, {inner2})"
    if rows == inner2:
        return "the first operand looks transposed: a.T @ b"
    if rows == columns:
        return "the operands look swapped: try b @ a"
    return f"the last size of the first operand ({inner}) must be the size before the last of the second ({inner2})"


def _linear(case: Case, x: tuple[int, ...], weight: tuple[int, ...]) -> str | None:
    out, features = weight
    before = _shape_before(next(iter(case.tensors.values())))
    if before is not None and len(before) > 2 and (before[0], prod(before[1:])) == x:
        return f"an example has {_times(before[1:])} = {x[-1]} values here: make in_features {x[-1]} (or use nn.LazyLinear)"
    if len(x) > 2 and prod(x[1:]) == features:
        return "the input still has several dimensions for each example: flatten(1) them first, or put nn.Flatten() before the layer"
    if len(x) == 1 and x[0] % features == 0 and x[0] > features:
        return f"the batch was flattened as well: flatten(1) keeps the {x[0] // features} examples of {features} features apart"
    if prod(x) == features:
        return (
            "the batch dimension is missing, or was flattened away: use flatten(1), not flatten()"
        )
    batch = before[0] if before else 0
    if batch and len(x) == 2 and x[0] > batch and prod(x) == batch * features:
        return f"each example was split into {features // x[1]} rows: keep the {batch} examples apart with flatten(1) or view({batch}, -1)"
    for axis in range(len(x) - 1):
        if x[axis] == features and (axis or len(x) > 2):
            return f"dimension {axis} has the {features} features, and a linear layer takes the last one: movedim({axis}, -1)"
    if x[-1] == out:
        return "the weight looks transposed: it is (out_features, in_features)"
    has = f"the last dimension of the input has {x[-1]} features and the layer expects {features}"
    return f"{has}: make in_features {x[-1]}, or make the previous layer output {features}"


@rule(
    r"Expected size for first two dimensions of batch2 tensor to be: \[(\d+), (\d+)\] but got: \[(\d+), (\d+)\]"
)
def _batched(case: Case) -> str | None:
    batch, inner, batch2, inner2 = case.numbers()
    a, b = case.shape(0), case.shape(1)
    if case.op == "scaled_dot_product_attention":
        return "query and key need the same last size, and key and value the same length (the size before it)"
    if batch != batch2:
        case.mark(-3)
        return f"the batches differ ({batch} and {batch2}): both operands must come from the same batch"
    case.mark(-1, -2)
    if a and b and a[-1] == b[-1]:
        return "for attention scores the second operand is transposed: q @ k.transpose(-2, -1)"
    return f"the last size of the first operand ({inner}) must be the size before the last of the second ({inner2})"


@rule(r"size mismatch, got input \((\d+)\), mat \((\d+)x(\d+)\), vec \((\d+)\)")
def _vector(case: Case) -> str | None:
    _, rows, columns, length = case.numbers()
    if rows == length:
        return "the matrix looks transposed: a.T @ v, or v @ a"
    return f"the vector needs as many elements as the matrix has columns ({columns})"


@rule(
    r"(self must be a matrix|batch1 must be a 3D tensor|batch2 must be a 3D tensor|mat2 must be a matrix)"
)
def _dimensions_of_product(case: Case) -> str | None:
    return "torch.matmul (or @) takes operands of any number of dimensions, mm only matrices, bmm only batches of matrices"


@rule(r"(?:1D tensors expected, but got|vector and vector expected)")
def _dot(case: Case) -> str | None:
    return "dot takes two vectors: flatten() both, or use @ for matrices"


@rule(r"(?:mat1 and mat2 must have the same dtype|expected m1 and m2 to have the same dtype)")
def _product_dtype(case: Case) -> str | None:
    kinds = [str(t.dtype).removeprefix("torch.") for t in case.tensors.values()]
    if kinds[:1] == ["float64"]:
        return "data from NumPy is float64 and layers are float32: use x.float() (or make the model double())"
    if kinds and kinds[0].startswith(("int", "uint", "bool")):
        return "the input has an integer dtype: use x.float() (or an nn.Embedding if these are indices)"
    return "convert one operand: x.to(w.dtype)"


# ---- broadcasting ------------------------------------------------------------------------------
@rule(
    r"The size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at non-singleton dimension (\d+)"
)
def _broadcast(case: Case) -> str | None:
    if len(case.tensors) != 2:
        return "shapes are aligned on the right: sizes in one column must be equal, or 1"
    a, b = case.shape(0), case.shape(1)
    wide, thin, name = (a, b, "b") if len(a) >= len(b) else (b, a, "a")
    if len(thin) == 1 and len(wide) == 2 and thin[0] == wide[0]:
        return f"to use one value of {name} for each row, make it a column: {name}.unsqueeze(1)"
    if len(thin) == 1 and len(wide) > 2 and thin[0] == wide[1]:
        ones = ", ".join(["1"] * (len(wide) - 2))
        return f"shapes are aligned on the right; for one value per channel (dimension 1): {name}.view(-1, {ones})"
    if len(thin) == 1 and len(wide) > 2 and thin[0] == wide[0]:
        ones = ", ".join(["1"] * (len(wide) - 1))
        return f"shapes are aligned on the right; for one value per example (dimension 0): {name}.view(-1, {ones})"
    general = "shapes are aligned on the right: sizes in one column must be equal, or 1"
    if len(a) != len(b):
        return general
    if len(a) == 2 and a == b[::-1]:
        return "one of them is transposed: a.T has the shape of b"
    if len(a) > 2 and sorted(a) == sorted(b) and len(set(a)) == len(a):
        order = next(p for p in permutations(range(len(b))) if tuple(b[k] for k in p) == a)
        return f"the same sizes in another order: b.permute{order} has the shape of a"
    different = [k for k in range(len(a)) if a[k] != b[k] and 1 not in (a[k], b[k])]
    if len(a) == 2 and a[1] == b[0] and a[0] != b[1]:
        return "* multiplies element by element: for the product of two matrices write a @ b"
    if different == [0]:
        return "only the batches differ: do both come from the same batch? The last one of an epoch is smaller (drop_last=True leaves it out)"
    if len(different) == 2 and all(abs(a[k] - b[k]) == 1 for k in different) and len(a) == 2:
        return "they were cut in different dimensions: x[1:] takes rows, x[:, 1:] columns"
    smaller = [
        t for t, s in zip(case.tensors.values(), (a, b), strict=True) if s[-1] == min(a[-1], b[-1])
    ]
    lost = abs(a[-1] - b[-1])
    if len(a) > 3 and a[:2] == b[:2] and lost % 2 == 0 and _made_by(smaller[0], "conv") is not None:
        return f"the convolution made it smaller by {lost}: give it padding={lost // 2} (or padding='same')"
    return general


@rule(r"output with shape \[.*\] doesn't match the broadcast shape")
def _grown(case: Case) -> str | None:
    return "an in-place operation cannot change the shape of its tensor: write x = x + y (the out-of-place form)"


@rule(
    r"The expanded size of the tensor \((\d+)\) must match the existing size \((\d+)\) at non-singleton dimension (\d+)"
)
def _expanded(case: Case) -> str | None:
    wanted, size, dim = case.numbers()
    if case.op != "__setitem__":
        times = (
            f" (here: repeat or repeat_interleave, {wanted // size} times)"
            if wanted % size == 0
            else ""
        )
        return (
            f"only dimensions of size 1 can be expanded, and dimension {dim} has size {size}{times}"
        )
    return f"the value has {size} elements, but the slice it is assigned to has {wanted}"


# ---- convolution, pooling ------------------------------------------------------------------------
@rule(
    r"weight of size \[([\d, ]+)\], expected input\[([\d, ]+)\] to have (\d+) channels, but got (\d+) channels instead"
)
def _channels(case: Case) -> str | None:
    wanted, got = int(case.found[2]), int(case.found[3])
    x, spatial = case.shape(0), len(case.shape(1)) - 2
    if not x or spatial < 1:
        return None
    case.mark(-spatial - 1)
    square = spatial > 1 and x[-1] == x[-2]  # as wide as channels are wanted, by chance
    few = spatial > 1 and got <= 4 < wanted
    if len(x) == spatial + 2 and x[-1] == wanted and not (few or square):
        order = ", ".join(map(str, (0, spatial + 1, *range(1, spatial + 1))))
        return f"the channels are last and must come right after the batch: x.permute({order})"
    if len(x) == spatial + 1 and x[-1] == wanted and wanted > 1:
        order = ", ".join(map(str, (spatial, *range(spatial))))
        return f"the channels are last and must come first: x.permute({order})"
    if len(x) == spatial + 1 and wanted == 1:
        return f"the channel dimension is missing: x.unsqueeze(1) is {_text((x[0], 1, *x[1:]))}"
    if (wanted, got) == (3, 1):
        return "the images are grayscale: make in_channels 1, or repeat the channel with x.expand(-1, 3, -1, -1)"
    if wanted == 1 and got in (3, 4):
        return f"the images have {got} channels: make in_channels {got}, or make them grayscale with x.mean(1, keepdim=True)"
    return f"make in_channels {got}, or make the previous layer output {wanted} channels"


@rule(
    r"Expected (\d)D \(unbatched\) or (\d)D \(batched\) input to (\w+), but got input of size: \[([\d, ]+)\]"
)
def _conv_dimensions(case: Case) -> str | None:
    few, many = int(case.found[0]), int(case.found[1])
    count = len(case.found[3].split(","))
    if count == few - 1:
        channels = case.option("in_channels")
        if isinstance(channels, int) and channels > 1:
            return f"the channel and the batch dimension are missing; the layer wants {channels} channels: x.expand(1, {channels}, *x.shape)"
        return "the channel and the batch dimension are missing: x[None, None]"
    if count == 2 and many == 4:
        return "the input was flattened: convolutions come before flatten(1)"
    if count == many + 1:
        return f"there is one dimension too many: squeeze it, or merge two with flatten(0, 1); a batch is {'(N, C, H, W)' if many == 4 else 'larger'}"
    return None


@rule(r"(?:Kernel size can't be greater than actual input size|Output size is too small)")
def _too_small(case: Case) -> str | None:
    x = case.shape(0)
    here = f" to {_times(x[2:])}" if len(x) > 2 else ""
    return f"the image has shrunk{here} at this layer: use a larger input, padding, or fewer layers that halve it"


# ---- normalization -------------------------------------------------------------------------------
@rule(r"(running_mean|weight|bias) should contain (\d+) elements not (\d+)")
def _features(case: Case) -> str | None:
    x, wanted = case.shape(0), int(case.found[2])
    if len(x) > 2 and x[-1] == wanted:
        return f"the channels are last and must come right after the batch: movedim(-1, 1), or make num_features {x[1]}"
    return (
        f"num_features is the number of channels, dimension 1 of the input: make it {case.found[1]}"
    )


@rule(r"expected (.*) input \(got (\d)D input\)")
def _norm_dimensions(case: Case) -> str | None:
    kind = {2: "BatchNorm1d", 3: "BatchNorm1d", 4: "BatchNorm2d", 5: "BatchNorm3d"}.get(
        int(case.found[1])
    )
    name = type(case.module).__name__ if case.module is not None else ""
    if kind is None or "Norm" not in name or name == kind:
        return None
    return f"for a {case.found[1]}-dimensional input use nn.{name[: -len('BatchNorm1d')] + kind if 'Batch' in name else name[:-2] + kind[-2:]}"


@rule(r"Given normalized_shape=\[([\d, ]+)\], expected input with shape")
def _layer_norm(case: Case) -> str | None:
    x, count = case.shape(0), len(case.found[0].split(","))
    case.mark(*range(-count, 0))
    return (
        f"normalized_shape is the last sizes of the input: make it {x[-1] if count == 1 else list(x[-count:])}"
        if x
        else None
    )


@rule(r"Expected number of channels in input to be divisible by num_groups")
def _group_norm(case: Case) -> str | None:
    x = case.shape(0)
    divisors = [d for d in range(1, x[1] + 1) if x[1] % d == 0] if len(x) > 1 else []
    return (
        f"dimension 1 has {x[1]} channels: num_groups can be {', '.join(map(str, divisors))}"
        if divisors
        else None
    )


# ---- recurrent -----------------------------------------------------------------------------------
@rule(r"input\.size\(-1\) must be equal to input_size\. Expected (\d+), got (\d+)")
def _rnn_features(case: Case) -> str | None:
    wanted, got = case.numbers()
    x = case.shape(0)
    case.mark(-1)
    for axis in range(len(x) - 1):
        if x[axis] == wanted:
            return f"the {wanted} features are in dimension {axis} and must be last: movedim({axis}, -1)"
    return f"input_size is the last size of the input: make it {got}"


@rule(r"Expected hidden(?:\[(\d)\])? size \((\d+), (\d+), (\d+)\), got \[(\d+), (\d+), (\d+)\]")
def _hidden(case: Case) -> str | None:
    wanted, got = [int(n) for n in case.found[1:4]], [int(n) for n in case.found[4:]]
    x, first = case.shape(0), bool(case.option("batch_first"))
    if wanted[1] != got[1] and len(x) == 3 and got[1] == x[1 if first else 0]:
        order = "with batch_first=True the input is (batch, time, features)"
        if first:
            return f"{order}, so this batch is {x[0]}: transpose(0, 1) it, or leave batch_first out"
        order = "without batch_first the input is (time, batch, features)"
        return f"{order}, so this batch is {x[1]}: transpose(0, 1) it, or pass batch_first=True"
    if wanted[1] != got[1]:
        return "the hidden state belongs to a batch of another size: start each batch with a new one, and drop or pad the smaller last batch"
    if wanted[0] != got[0]:
        return f"the first size is num_layers, times two when bidirectional: {wanted[0]}; batch_first does not change the hidden state"
    return f"the last size of the hidden state is hidden_size: {wanted[2]}"


@rule(r"For (un)?batched (\d)-D input, hx (?:and cx )?should also be (\d)-D")
def _hidden_dimensions(case: Case) -> str | None:
    return (
        "the hidden state is (num_layers, batch, hidden_size): h.unsqueeze(0) adds the layers"
        if case.found[2] == "3"
        else None
    )


# ---- losses --------------------------------------------------------------------------------------
@rule(r"Expected input batch_size \((\d+)\) to match target batch_size \((\d+)\)")
def _loss_batch(case: Case) -> str | None:
    rows, labels = case.numbers()
    if rows % labels == 0 and rows > labels:
        return f"there are {rows // labels} rows for each label: was the input reshaped with view(-1, ...) that mixes up the batch?"
    if labels % rows == 0 and labels > rows:
        return f"there are {labels // rows} labels for each row: for sequences flatten both: logits.flatten(0, 1) and target.flatten()"
    return "input and target must come from the same batch"


_ONE_HOT = "the labels are one-hot: use target.argmax(1) for class indices, or target.float() for probabilities"


@rule(r"0D or 1D target tensor expected, multi-target not supported")
def _multi_target(case: Case) -> str | None:
    x, target = case.shape(0), case.shape(1)
    if target[-1:] == (1,):
        return "the labels are a column: target.squeeze(1) gives one class index per row"
    if x == target:
        return _ONE_HOT
    return "cross entropy takes one class index per row"


@rule(r"Expected floating point type for target with class probabilities")
def _one_hot(case: Case) -> str | None:
    if len(case.shape(0)) == 1:
        return "the input has no batch dimension: cross_entropy takes one row of scores per sample, (N, C), and N class indices"
    return _ONE_HOT


@rule(r"expected target dtype to be Long or Byte, but got (\w+)")
def _label_dtype(case: Case) -> str | None:
    x, target = case.shape(0), case.shape(1)
    if x == target:
        return "cross_entropy takes class probabilities in the shape of the input, or class indices as int64: use target.argmax(1)"
    regression = "; for real-valued targets use a regression loss, F.mse_loss(input, target)"
    real = case.found[0] in ("Float", "Double", "Half", "BFloat16")
    return f"class indices must be int64: use target.long(){regression if real else ''}"


@rule(r"Expected target size \[([\d, ]+)\], got \[([\d, ]+)\]")
def _target_size(case: Case) -> str | None:
    x, target = case.shape(0), case.shape(1)
    if len(x) > 2 and x[:-1] == target:
        return (
            "the classes must be dimension 1 of the input: input.transpose(1, 2) for (batch, time, classes)"
            if len(x) == 3
            else "the classes must be dimension 1 of the input: movedim(-1, 1)"
        )
    if len(x) > 2 and target[1:2] == (1,) and len(target) == len(x):
        return "the target has one dimension too many: target.squeeze(1)"
    return (
        f"the target has the sizes of the input without dimension 1, the classes: {_text((*x[:1], *x[2:]))}"
        if x
        else None
    )


@rule(
    r"(?:Found dtype (\w+) but expected Float|result type Float can't be cast to the desired output type (?:Long|Int))"
)
def _loss_dtype(case: Case) -> str | None:
    if "loss" in case.op or "entropy" in case.op:
        return "the target must have the dtype of the input: use target.float()"
    return "an in-place operation keeps the dtype of its tensor: convert it first with .float(), or write x = x + y"


# ---- joining, rearranging --------------------------------------------------------------------------
@rule(
    r"Sizes of tensors must match except in dimension (\d+)\. Expected size (\d+) but got size (\d+) for tensor number (\d+)"
)
def _cat(case: Case) -> str | None:
    dim, _, _, position = case.numbers()
    first, other = case.shape(0), case.shape(position)
    if len(first) != len(other):
        return None
    different = [k for k in range(len(first)) if first[k] != other[k] and k != dim]
    case.mark(*(k - len(first) for k in different))
    if len(different) == 1 and first[dim] == other[dim]:
        return f"they differ in dimension {different[0]} only: join them there, torch.cat(tensors, dim={different[0]})"
    swaps = []
    for pair in combinations(range(len(other)), 2):
        order = list(other)
        order[pair[0]], order[pair[1]] = order[pair[1]], order[pair[0]]
        if all(order[k] == first[k] for k in range(len(first)) if k != dim):
            swaps.append(pair)
    if len(swaps) == 1:
        return f"tensor number {position} fits with two dimensions exchanged: use x.transpose{swaps[0]}"
    return "pad or cut them to the same sizes first (for sequences: nn.utils.rnn.pad_sequence)"


@rule(r"Tensors must have same number of dimensions: got (\d+) and (\d+)")
def _cat_dimensions(case: Case) -> str | None:
    a, b = case.numbers()
    return (
        "give the smaller one the missing dimension with unsqueeze(0)"
        if abs(a - b) == 1
        else "reshape them to the same number"
    )


@rule(
    r"stack expects each tensor to be equal size, but got \[([\d, ]*)\] at entry 0 and \[([\d, ]*)\] at entry (\d+)"
)
def _stack(case: Case) -> str | None:
    a, b = ([int(n) for n in text.split(",") if n.strip()] for text in case.found[:2])
    if len(a) == len(b):
        case.mark(*(k - len(a) for k in range(len(a)) if a[k] != b[k]))
        if a and a[1:] == b[1:]:
            return "to stack sequences of different lengths, pad them: nn.utils.rnn.pad_sequence(tensors, batch_first=True); or join them with cat"
    return "stack needs tensors of equal shape: pad, cut or resize them first, or join with cat"


@rule(r"shape '\[([-\d, ]+)\]' is invalid for input of size (\d+)")
def _reshape(case: Case) -> str | None:
    wanted = [int(n) for n in case.found[0].split(",")]
    size = int(case.found[1])
    x = case.shape(0)
    rest = prod(n for n in wanted[1:] if n != -1)
    if x and rest and -1 not in wanted[1:] and wanted[0] != -1 and size == x[0] * rest:
        return f"the batch is {x[0]} here, not {wanted[0]}: write x.shape[0] (or -1) in its place"
    known = prod(n for n in wanted if n != -1)
    if -1 in wanted:
        return f"{size} elements cannot be divided into rows of {known}: -1 would not be a whole number"
    return f"{_times(wanted)} = {known} elements are requested, but there are {_times(x) + ' = ' if len(x) > 1 else ''}{size}"


@rule(r"view size is not compatible with input tensor's size and stride")
def _view(case: Case) -> str | None:
    x = next(iter(case.tensors.values()), None)
    made = x._view.chain[-1][0].name if x is not None and x._view is not None else ""
    if made in ("permute", "transpose", "t"):
        return f"after {made} the tensor is not contiguous: use reshape(...), which copies it, or contiguous() before view(...)"
    return "call .reshape(...), or .contiguous() before .view(...)"


@rule(
    r"number of dimensions in the tensor input does not match the length of the desired ordering of dimensions"
)
def _permute(case: Case) -> str | None:
    x = case.shape(0)
    return (
        f"permute takes every dimension once, here {_text(range(len(x)))} in some order; to swap two, use transpose"
        if x
        else None
    )


@rule(
    r"Dimension out of range \(expected to be in range of \[(-?\d+), (-?\d+)\], but got (-?\d+)\)"
)
def _dimension(case: Case) -> str | None:
    low, high, got = case.numbers()
    count = len(case.shape(0)) if case.tensors else high + 1
    more = "; is the batch dimension missing?" if got == high + 1 else ""
    return f"dimensions are numbered from 0, and this tensor has {count}{more}"


# ---- indexing --------------------------------------------------------------------------------------
@rule(r"too many indices for tensor of dimension (\d+)")
def _too_many(case: Case) -> str | None:
    return f"the tensor has {case.found[0]} dimension{'s' * (case.found[0] != '1')}: was one squeezed away, or lost by an index before?"


@rule(r"index (-?\d+) is out of bounds for dimension (\d+) with size (\d+)")
def _bounds(case: Case) -> str | None:
    index, dim, size = case.numbers()
    if size == 0:
        return f"dimension {dim} is empty"
    return f"indices of dimension {dim} go from 0 to {size - 1}" + (
        " (and from -1 down)" if index < 0 else ""
    )


@rule(
    r"The shape of the mask \[([\d, ]*)\] at index (\d+) does not match the shape of the indexed tensor \[([\d, ]*)\]"
)
def _mask(case: Case) -> str | None:
    mask, x = (
        [int(n) for n in text.split(",") if n.strip()] for text in (case.found[0], case.found[2])
    )
    if len(mask) == 1 and mask[0] in x:
        return f"the mask fits dimension {x.index(mask[0])}: x[{':, ' * x.index(mask[0])}mask]"
    return (
        "a mask has the sizes of the dimensions that it selects from, the first ones of the tensor"
    )


@rule(r"tensors used as indices must be long, int, byte or bool tensors")
def _index_dtype(case: Case) -> str | None:
    return "indices must be integers: use index.long()"


@rule(r"Index tensor must have the same number of dimensions as (?:input|self|src) tensor")
def _gather_dimensions(case: Case) -> str | None:
    x, index = case.shape(0), case.shape(1)
    if len(index) == len(x) - 1 and index == x[:-1]:
        return "for one element of each row: x.gather(1, index.unsqueeze(1)).squeeze(1)"
    return f"the index needs {len(x)} dimensions: unsqueeze it" if len(index) < len(x) else None


@rule(r"Expected dtype int(?:32/int)?64 for index")
def _gather_dtype(case: Case) -> str | None:
    return "indices must be int64: use index.long()"


@rule(r"one_hot is only applicable to index tensor")
def _one_hot_dtype(case: Case) -> str | None:
    return "class indices must be int64: use labels.long()"


@rule(
    r"einsum\(\): subscript (\w) has size (\d+) for operand (\d+) which does not broadcast with previously seen size (\d+)"
)
def _einsum(case: Case) -> str | None:
    letter, size, operand, before = case.found
    return f"{letter} stands for {before} in an earlier operand and for {size} in operand {operand}: use another letter, or transpose"


@rule(r"index out of range in self|idx < num_embeddings|of input takes value")
def _embedding(case: Case) -> str | None:
    if any(bool((t._array < 0).any()) for t in case.tensors.values() if t.dtype.is_integral):
        return "an index is negative, but indices start at 0; for padding, reserve one index and pass it as padding_idx="
    return "num_embeddings must be larger than every index: is the vocabulary smaller than the one the tokens come from?"


@rule(
    r"(?:cat|concat|concatenate|stack|hstack|vstack|dstack)\(\): argument 'tensors' \(position 1\) must be tuple of Tensors, not Tensor"
)
def _tensors_without_list(case: Case) -> str | None:
    return "put the tensors in a list: torch.cat([a, b])".replace("cat", case.op or "cat")


@rule(r"argument 'input' \(position 1\) must be Tensor, not (\S+)")
def _not_a_tensor(case: Case) -> str | None:
    if case.found[0] == "NoneType":
        return "the input is None; if it is a model's output, does its forward() return anything?"
    if case.found[0] == "numpy.ndarray":
        return "convert the array: torch.from_numpy(x).float()"
    if case.found[0] == "tuple" and case.module is not None:
        return "the layer before returns (output, state), as recurrent layers do; use the first one: output, _ = lstm(x)"
    if case.found[0] in ("list", "tuple", "float", "int"):
        return f"convert the {case.found[0]}: torch.tensor(x)"
    return None


@rule(r"expected Tensor as element \d+ in argument \d+, but got (?:int|float)")
def _numbers_for_tensors(case: Case) -> str | None:
    return "for a list of numbers: torch.tensor([...])"


@rule(r"split_with_sizes expects split_sizes to sum exactly to (\d+) .*split_sizes=\[([\d, ]+)\]")
def _split(case: Case) -> str | None:
    sizes = [int(n) for n in case.found[1].split(",")]
    return f"the sizes add up to {sum(sizes)}; for equal parts give one number: torch.split(x, {max(sizes)})"


@rule(r"X1 and X2 must have the same number of columns\. X1: (\d+) X2: (\d+)")
def _cdist(case: Case) -> str | None:
    case.mark(-1)
    return "the last dimension holds the coordinates of a point: both need the same number"
