"""Pack sequences of unequal lengths without padding, and pad them to equal lengths."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..arrays.numpy_cpu import namespace_of
from ..core.modes import state
from ..core.tape import titled
from ..core.tensor import Parameter, Tensor, make_tensor
from ..errors import (
    ArgumentTypeError,
    ArgumentValueError,
    IndexOutOfRangeError,
    OperationError,
    no_pinned,
)
from ..ops._rules import past_autocast
from ._functions import T


class _Packed(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Packed):
    """Sequences of a batch, time step by time step, longest first.

    Attributes:
        data: the elements: first those of time step 0, then those of step 1, ...
        batch_sizes: how many sequences have each time step (int64).
        sorted_indices, unsorted_indices: the order of the sequences, and the way back.

    >>> import pellucid as torch
    >>> rows = [torch.tensor([1, 2, 3]), torch.tensor([4])]
    >>> packed = torch.nn.utils.rnn.pack_sequence(rows)
    >>> packed.data, packed.batch_sizes
    (tensor([1, 4, 2, 3]), tensor([2, 1, 1]))
    """

    def __new__(
        cls,
        data: Any,
        batch_sizes: Any = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> Any:
        if batch_sizes is None and isinstance(data, (tuple, list)):
            data, batch_sizes = data
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def __reduce__(self) -> Any:
        return PackedSequence, tuple(self)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The sequences with `data` converted."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        return PackedSequence(data, self.batch_sizes, self.sorted_indices, self.unsorted_indices)

    def _converted(self, name: str) -> PackedSequence:
        return PackedSequence(
            getattr(self.data, name)(), self.batch_sizes, self.sorted_indices, self.unsorted_indices
        )

    def double(self) -> PackedSequence:
        """`data` as float64."""
        return self._converted("double")

    def float(self) -> PackedSequence:
        """`data` as float32."""
        return self._converted("float")

    def half(self) -> PackedSequence:
        """`data` as float16."""
        return self._converted("half")

    def long(self) -> PackedSequence:
        """`data` as int64."""
        return self._converted("long")

    def int(self) -> PackedSequence:
        """`data` as int32."""
        return self._converted("int")

    def short(self) -> PackedSequence:
        """`data` as int16."""
        return self._converted("short")

    def char(self) -> PackedSequence:
        """`data` as int8."""
        return self._converted("char")

    def byte(self) -> PackedSequence:
        """`data` as uint8."""
        return self._converted("byte")

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Not supported: there is no GPU.

        Raises:
            AssertionError: always, in PyTorch's words.
        """
        return self.to(self.data.cuda(*args, **kwargs).device)

    def cpu(self) -> PackedSequence:
        """The sequences themselves."""
        return self

    def pin_memory(self) -> PackedSequence:
        """Not supported: there is no accelerator to pin memory for."""
        raise no_pinned()

    @property
    def is_cuda(self) -> bool:
        """False."""
        return False

    def is_pinned(self) -> bool:
        """False."""
        return False


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes another.

    >>> import pellucid as torch
    >>> torch.nn.utils.rnn.invert_permutation(torch.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    return make_tensor(np.argsort(permutation._array, kind="stable").astype(np.int64))


def checked_sizes(packed: PackedSequence) -> list[int]:
    """How many sequences have each step, as numbers that fit the data: anybody can make a
    PackedSequence of what does not.
    """
    sizes = packed.batch_sizes.tolist()
    rows = packed.data.shape[0] if packed.data.ndim else 0
    if not isinstance(sizes, list) or any(type(n) is not int for n in sizes):
        raise OperationError(
            f"batch_sizes must be a 1-D tensor of whole numbers, but got {packed.batch_sizes!r}"
        )
    if not sizes:
        raise IndexOutOfRangeError(
            "index 0 is out of bounds for dimension 0 with size 0",
            hint="a PackedSequence has at least one step",
        )
    start, before = 0, sizes[0]
    for n in sizes:
        if n < 0 or start + n > rows:
            raise OperationError(
                f"start ({start}) + length ({n}) exceeds dimension size ({rows}).",
                hint="batch_sizes do not fit the data",
            )
        if n > before:
            raise OperationError(
                f"batch_sizes of a PackedSequence must not increase, but {before} is followed by {n}"
            )
        start, before = start + n, n
    if start != rows:
        raise OperationError(
            f"batch_sizes of a PackedSequence add up to {start}, but its data has {rows} rows"
        )
    return sizes


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack sequences that were padded to one length.

    Args:
        input: (T, B, *), or (B, T, *) with `batch_first`.
        lengths: the length of each sequence (int64 tensor on the CPU, or numbers).
        enforce_sorted: refuse lengths that do not decrease; otherwise sequences are sorted here.

    Raises:
        RuntimeError: lengths that are not sorted, not positive, or not as many as sequences.

    >>> import pellucid as torch
    >>> x = torch.tensor([[1, 2, 3], [4, 0, 0]])
    >>> torch.nn.utils.rnn.pack_padded_sequence(x, torch.tensor([3, 1]), batch_first=True).data
    tensor([1, 4, 2, 3])
    """
    if not isinstance(lengths, Tensor):
        lengths = make_tensor(np.asarray([int(n) for n in lengths], np.int64))
    sizes = lengths._array
    if sizes.ndim != 1:
        raise OperationError(
            f"'lengths' argument should be a 1D CPU int64 tensor, but got {sizes.ndim}D cpu Long tensor"
        )
    sorted_indices = None
    if not enforce_sorted:
        order = np.argsort(-sizes, kind="stable")
        sizes = sizes[order]
        sorted_indices = _beside(input, order.astype(np.int64))
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    steps = input.transpose(0, 1) if batch_first else input
    batch = steps.shape[1]
    if len(sizes) != batch:
        raise OperationError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(sizes)} (batch_size={batch})"
        )
    if batch == 0:
        raise OperationError("Cannot pack empty tensors.")
    if (np.diff(sizes) > 0).any():
        raise OperationError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass `enforce_sorted=False` to "
            "pack_padded_sequence and/or pack_sequence to sidestep this requirement if you do not need ONNX exportability."
        )
    if sizes[-1] <= 0:
        raise OperationError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if sizes[0] > steps.shape[0]:
        raise OperationError(
            f"Expected sequence lengths of at most {steps.shape[0]}, but got {int(sizes[0])}"
        )
    counts = (sizes > np.arange(sizes[0])[:, None]).sum(1).astype(np.int64)
    at = _places(counts, batch)
    flat = steps.reshape(steps.shape[0] * batch, *steps.shape[2:])
    data = titled(
        flat.index_select(0, _beside(input, at)),
        "PackPaddedSequence",
        of=(input,),
        batch_size=list(map(int, counts)),
        batch_first=bool(batch_first),
    )
    return PackedSequence(data, make_tensor(counts), sorted_indices, None)


def _beside(x: Tensor, array: np.ndarray) -> Tensor:
    """A tensor of the array's values on the device of `x`."""
    return make_tensor(namespace_of(x._array).from_host(array))


def _places(counts: np.ndarray, batch: int) -> np.ndarray:
    """The rows, of T * B, that packed sequences fill, step by step."""
    return np.flatnonzero(np.arange(batch) < counts[:, None])


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """The padded tensor and the lengths, in the original order: what `pack_padded_sequence` was
    given.

    Raises:
        ValueError: `total_length` is less than the longest sequence.

    >>> import pellucid as torch
    >>> rows = [torch.tensor([1, 2, 3]), torch.tensor([4])]
    >>> packed = torch.nn.utils.rnn.pack_sequence(rows)
    >>> torch.nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
    (tensor([[1, 2, 3],
            [4, 0, 0]]), tensor([3, 1]))
    """
    counts = np.asarray(checked_sizes(sequence), np.int64)
    longest, batch = len(counts), int(counts[0])
    if total_length is not None:
        if total_length < longest:
            raise ArgumentValueError(
                f"Expected total_length to be at least the length of the longest sequence in input, but got total_length={total_length} "
                f"and max sequence length being {longest}"
            )
        steps = total_length
    else:
        steps = longest
    data = sequence.data
    lengths = (counts[:, None] > np.arange(batch)).sum(0).astype(np.int64)
    at = _places(counts, batch)
    flat = data.new_full((steps * batch, *data.shape[1:]), padding_value).index_copy(
        0, _beside(data, at), data
    )
    padded = flat.reshape(steps, batch, *data.shape[1:])
    sizes = make_tensor(lengths)
    if sequence.unsorted_indices is not None:
        padded = padded.index_select(1, sequence.unsorted_indices)
        sizes = make_tensor(lengths[sequence.unsorted_indices.cpu()._array])
    return (padded.transpose(0, 1) if batch_first else padded), sizes


def _padded(parts: list[Tensor], batch_first: bool, value: float, side: str) -> Tensor | None:
    """The padded tensor in one go; None where a gradient is wanted, or where the parts do not fit
    together as plain arrays.
    """
    first = parts[0]._array
    for part in parts:
        a = part._array
        if (
            type(part) not in (Tensor, Parameter)
            or part._rg
            or type(a) is not np.ndarray
            or a.dtype is not first.dtype
        ):
            return None
        if not a.ndim or a.shape[1:] != first.shape[1:]:
            return None
    longest, count = max([len(part._array) for part in parts]), len(parts)
    made = T.full((count, longest, *first.shape[1:]), value, dtype=parts[0].dtype)
    out = made._array
    for k, part in enumerate(parts):
        a = part._array
        out[k, longest - len(a) if side == "left" else 0 :][: len(a)] = a
    return made if batch_first else make_tensor(np.ascontiguousarray(out.swapaxes(0, 1)))


@past_autocast
def pad_sequence(
    sequences: Iterable[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Tensors of shapes (L_i, *) padded to the longest: (T, B, *), or (B, T, *) with `batch_first`.

    Example:
        >>> import pellucid as torch
        >>> pad_sequence([torch.ones(2), torch.ones(3)], batch_first=True)
        tensor([[1., 1., 0.],
                [1., 1., 1.]])
    """
    if isinstance(sequences, Tensor):
        sequences = sequences.unbind(0)
    elif not isinstance(sequences, Iterable):
        raise OperationError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    if padding_side not in ("left", "right"):
        raise OperationError(
            f"Expected padding_side to be one of left or right, but got {padding_side}."
        )
    parts = list(sequences)
    if not parts:
        raise OperationError("received an empty list of sequences")
    for part in parts:
        if not isinstance(part, Tensor):
            raise ArgumentTypeError(
                f"pad_sequence(): argument 'sequences' (position 1) must be tuple of Tensors, not {type(part).__name__}"
            )
    made = None if state.slow else _padded(parts, batch_first, padding_value, padding_side)
    if made is not None:
        return made
    if parts[0].ndim == 0:
        raise OperationError("ArrayRef: invalid slice, N = 1; size = 0")
    trailing = parts[0].shape[1:]
    longest = max(part.size(0) for part in parts)
    if any(part.shape[1:] != trailing for part in parts):
        # broadcast to the first, or refused, by what writes them
        sizes = (len(parts), longest) if batch_first else (longest, len(parts))
        filled = T.full((*sizes, *trailing), padding_value, dtype=parts[0].dtype)
        for number, part in enumerate(parts):
            start = longest - part.shape[0] if padding_side == "left" else 0
            place = filled.select(0 if batch_first else 1, number)
            place.narrow(0, start, part.shape[0]).copy_(part)
        return filled
    padded = []
    for part in parts:
        missing = longest - part.shape[0]
        if missing:
            filler = T.full((missing, *part.shape[1:]), padding_value, dtype=part.dtype)
            part = T.cat([filler, part] if padding_side == "left" else [part, filler])
        padded.append(part)
    return T.stack(padded, 0 if batch_first else 1)


def unpad_sequence(
    padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False
) -> list[Tensor]:
    """The sequences without their padding: the inverse of `pad_sequence`.

    >>> import pellucid as torch
    >>> x = torch.tensor([[1, 2, 3], [4, 0, 0]])
    >>> torch.nn.utils.rnn.unpad_sequence(x, torch.tensor([3, 1]), batch_first=True)
    [tensor([1, 2, 3]), tensor([4])]
    """
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[: int(n)] for row, n in zip(rows, lengths.tolist())]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack tensors of shapes (L_i, *).

    >>> import pellucid as torch
    >>> torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])]).batch_sizes
    tensor([2, 1])
    """
    lengths = make_tensor(np.asarray([v.shape[0] for v in sequences], np.int64))
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The tensors that `pack_sequence` was given.

    >>> import pellucid as torch
    >>> packed = torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])])
    >>> torch.nn.utils.rnn.unpack_sequence(packed)
    [tensor([1, 2]), tensor([3])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
