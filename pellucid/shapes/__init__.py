"""Shape arithmetic: from sizes, strides and dimension numbers to those of a result, or to PyTorch's
error.

Integers only. Strides are counted in elements. Shapes go in as any sequence of ints and come out as
tuples.
"""

from .broadcast import (
    broadcast_dims,
    broadcast_shapes,
    broadcast_shapes_api,
    check_inplace_shape,
    expand,
)
from .conv import conv_shape, conv_transpose_shape, same_padding
from .dims import (
    Shape,
    check_nonempty_reduction,
    moved,
    normalize_dim,
    normalize_dims,
    permutation,
    reduce_dims,
    reduce_shape,
    text,
)
from .parts import (
    cat_shape,
    chunk_sizes,
    diagonal_shape,
    index_position,
    narrow_range,
    select_position,
    slice_range,
    split_sizes,
    stack_shape,
    tensor_split_sizes,
    unfold_shape,
)
from .pool import adaptive_pool_shape, adaptive_window, pool_output_size, pool_shape
from .products import bmm_shape, dot_shape, linear_shape, matmul_shape, mm_shape, mv_shape
from .spatial import per_dim, within
from .views import (
    VIEW_REFUSED,
    channels_last_strides,
    check_as_strided,
    checked_sizes,
    contiguous_strides,
    flatten_shape,
    infer_size,
    is_channels_last,
    is_contiguous,
    strides_by_channels,
    unflatten_shape,
    view_strides,
)
from .windows import fold_shape, pad_shape, unfold_windows_shape
