"""Packing and padding of sequences (`torch.nn.utils.rnn`)."""

from .._packing import PackedSequence as PackedSequence
from .._packing import invert_permutation as invert_permutation
from .._packing import pack_padded_sequence as pack_padded_sequence
from .._packing import pack_sequence as pack_sequence
from .._packing import pad_packed_sequence as pad_packed_sequence
from .._packing import pad_sequence as pad_sequence
from .._packing import unpack_sequence as unpack_sequence
from .._packing import unpad_sequence as unpad_sequence

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]
