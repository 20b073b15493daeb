"""Shape rules against the operations they describe: same shapes and strides, same exception types,
same first lines.
"""

import itertools

import numpy as np
import pytest

from pellucid import shapes

torch = pytest.importorskip("torch")
F = torch.nn.functional
pytestmark = [
    pytest.mark.oracle,
    pytest.mark.filterwarnings("ignore:Using padding='same'"),
]


def outcome(function):
    """The shape, or the exception's built-in type and first line."""
    try:
        made = function()
    except Exception as error:
        return type(error).__name__, str(error).splitlines()[0]
    if isinstance(made, torch.Tensor):
        return tuple(made.shape)
    if isinstance(made, (list, tuple)) and made and isinstance(made[0], torch.Tensor):
        return [tuple(part.shape) for part in made]
    return made


def same(mine, theirs):
    assert outcome(mine) == outcome(theirs)


# Errors of PyTorch's convolution library, which notices some mistakes late, or not at all.
FOREIGN = (
    "memory descriptor",
    "primitive descriptor",
    "dimensions are invalid",
    "to match the convolution dimensions",
)


def same_convolution(mine, theirs, option):
    """As `same`, where PyTorch itself checks."""
    ours, wanted = outcome(mine), outcome(theirs)
    if option.get("dilation") == 0 or (
        option.get("padding") == "same" and ours[0] == "RuntimeError"
    ):
        # Whether the dilation is looked at, or the padded input named, depends on the algorithm.
        assert ours[0] == "RuntimeError" and (
            option.get("dilation") == 0 or wanted[0] == "RuntimeError"
        )
    elif wanted[0] == "RuntimeError" and any(words in str(wanted[1]) for words in FOREIGN):
        assert ours[0] == "RuntimeError"
    else:
        assert ours == wanted


def zeros(shape):
    return torch.zeros(tuple(shape))


def random_shape(rng, most=4, low=0, high=5):
    return tuple(int(n) for n in rng.integers(low, high, int(rng.integers(0, most + 1))))


def test_broadcasting():
    rng = np.random.default_rng(0)
    for _ in range(600):
        a, b, c = (random_shape(rng) for _ in range(3))
        same(lambda: shapes.broadcast_shapes(a, b), lambda: zeros(a) + zeros(b))
        same(
            lambda: shapes.broadcast_shapes(a, b, c),
            lambda: torch.addcmul(zeros(a), zeros(b), zeros(c)),
        )
        same(
            lambda: shapes.broadcast_shapes_api(a, b, c),
            lambda: tuple(torch.broadcast_shapes(a, b, c)),
        )
    same(
        lambda: shapes.broadcast_shapes_api(3, (2, 1)),
        lambda: tuple(torch.broadcast_shapes(3, (2, 1))),
    )
    same(
        lambda: shapes.broadcast_shapes_api((-1,), (2,)),
        lambda: torch.broadcast_shapes((-1,), (2,)),
    )


def test_inplace():
    def mine(a, b):
        result = shapes.broadcast_shapes(a, b)
        shapes.check_inplace_shape(a, result)
        return result

    rng = np.random.default_rng(1)
    for _ in range(300):
        a, b = random_shape(rng), random_shape(rng)
        same(lambda: mine(a, b), lambda: zeros(a).add_(zeros(b)))


def test_expand():
    rng = np.random.default_rng(2)
    for _ in range(1500):
        a = random_shape(rng, 3, 0, 4)
        target = tuple(int(n) for n in rng.integers(-1, 4, int(rng.integers(0, 5))))
        if rng.random() < 0.7:
            lead = tuple(
                int(n)
                for n in rng.integers(-1 if rng.random() < 0.1 else 1, 4, int(rng.integers(0, 3)))
            )
            target = lead + tuple(
                int(rng.choice([n, -1])) if n != 1 else int(rng.integers(-1, 4)) for n in a
            )
        x = zeros(a)

        def theirs():
            made = x.expand(target)
            return tuple(made.shape), made.stride()

        if (
            str(outcome(theirs)[0])[:1] != "(" or -1 not in outcome(theirs)[0]
        ):  # PyTorch lets a negative size through where another size is 0
            same(lambda: shapes.expand(a, x.stride(), target), theirs)
    same(lambda: shapes.expand((3,), (1,), (2, -2)), lambda: zeros((3,)).expand(2, -2))


def test_dimensions():
    for ndim, dim in itertools.product(range(4), range(-5, 5)):
        x = zeros((2,) * ndim)
        rest = shapes.reduce_shape
        same(lambda: rest(x.shape, shapes.reduce_dims(dim, ndim)), lambda: x.sum(dim))
        same(
            lambda: rest(x.shape, shapes.reduce_dims(dim, ndim), True),
            lambda: x.sum(dim, keepdim=True),
        )
        same(
            lambda: x.shape[shapes.normalize_dim(dim, ndim, scalar_is_vector=False)],
            lambda: x.size(dim),
        )
        for other in range(-3, 3):
            pair = (dim, other)
            same(lambda: rest(x.shape, shapes.reduce_dims(pair, ndim)), lambda: x.sum(pair))
            same(lambda: (2,) * len(shapes.permutation(pair, ndim)), lambda: x.permute(pair))
    for dim in (None, ()):
        same(
            lambda: shapes.reduce_shape((2, 3), shapes.reduce_dims(dim, 2)),
            lambda: zeros((2, 3)).sum(dim),
        )
        same(
            lambda: shapes.reduce_shape((), shapes.reduce_dims(dim, 0)), lambda: zeros(()).sum(dim)
        )


def test_empty_reductions():
    for name, shape, dim in itertools.product(
        ("max", "argmax", "amax"), [(0, 3), (0,), (2, 3), ()], (0, 1, -1, None)
    ):
        if name == "amax" and dim is None:
            continue
        x = zeros(shape)
        args = () if dim is None else (dim,)

        def mine():
            shapes.check_nonempty_reduction(name, shape, dim)
            return shapes.reduce_shape(shape, shapes.reduce_dims(dim, len(shape)))

        def theirs():
            made = getattr(x, name)(*args)
            return made[0] if isinstance(made, tuple) else made

        same(mine, theirs)


def strided(rng):
    """A tensor with some mixture of permuted, sliced, expanded dimensions."""
    x = torch.zeros(tuple(int(n) for n in rng.integers(1, 5, int(rng.integers(0, 4)))))
    if x.dim() and rng.random() < 0.5:
        x = x.permute(*rng.permutation(x.dim()).tolist())
    if x.dim() and rng.random() < 0.4:
        x = x.narrow(int(rng.integers(x.dim())), 0, 1)
    if x.dim() and rng.random() < 0.3:
        x = x[::2]
    if rng.random() < 0.3:
        x = x.expand(int(rng.integers(1, 4)), *x.shape)
    return x


def factored(rng, numel):
    """A random shape of so many elements, sometimes with -1 or a mistake in it."""
    sizes = []
    while numel > 1 and rng.random() < 0.85:
        factor = int(rng.choice([n for n in range(1, numel + 1) if numel % n == 0]))
        sizes.append(factor)
        numel //= factor
    sizes.append(numel)
    for _ in range(int(rng.integers(0, 3))):
        sizes.insert(int(rng.integers(0, len(sizes) + 1)), 1)
    if rng.random() < 0.4:
        sizes[int(rng.integers(len(sizes)))] = int(rng.choice([-1, -1, -1, -2, 0, 5]))
    return sizes


def test_views():
    def mine(x, sizes):
        new = shapes.infer_size(sizes, x.numel())
        strides = shapes.view_strides(x.shape, x.stride(), new)
        if strides is None:
            raise RuntimeError(shapes.VIEW_REFUSED)
        return new, strides

    def theirs(x, sizes):
        made = x.view(sizes)
        return tuple(made.shape), made.stride()

    rng = np.random.default_rng(3)
    for _ in range(3000):
        x = strided(rng)
        sizes = factored(rng, x.numel())
        same(lambda: mine(x, sizes), lambda: theirs(x, sizes))
    for shape, sizes in [
        ((0, 3), (-1, 3)),
        ((0,), (-1, 0)),
        ((0, 3), (0, 3)),
        ((0,), (2,)),
        ((), ()),
        ((), (1, 1)),
        ((3, 4), (-1, -1)),
        ((2, 0, 3), (5, 0)),
        ((3, 4), ()),
    ]:
        x = zeros(shape)
        same(lambda: mine(x, sizes), lambda: theirs(x, sizes))


def test_memory_order():
    rng = np.random.default_rng(4)
    for _ in range(500):
        x = strided(rng)
        assert shapes.is_contiguous(x.shape, x.stride()) == x.is_contiguous()
    for shape in [
        (2, 3, 4, 5),
        (1, 1, 1, 1),
        (2, 1, 3, 1),
        (0, 3, 4, 5),
        (2, 3, 4, 5, 6),
        (2, 3),
        (1, 3, 1, 1),
    ]:
        x = torch.zeros(shape)
        same(lambda: shapes.contiguous_strides(shape), x.stride)
        if len(shape) >= 4:
            form = torch.channels_last if len(shape) == 4 else torch.channels_last_3d
            y = torch.empty(shape, memory_format=form)
            assert shapes.channels_last_strides(shape) == y.stride()
            for t in (x, y, x.transpose(0, 1), y[:, :1], x.permute(*range(1, len(shape)), 0)):
                assert shapes.is_channels_last(t.shape, t.stride()) == t.is_contiguous(
                    memory_format=form
                )


def test_flatten_and_unflatten():
    for ndim, start, end in itertools.product(range(4), range(-3, 4), range(-3, 4)):
        shape = (2, 3, 4)[:ndim]
        same(
            lambda: shapes.flatten_shape(shape, start, end),
            lambda: zeros(shape).flatten(start, end),
        )
    for dim, sizes in itertools.product(
        (-2, 0, 1, 2), [(4, 2), (2, 3), (-1, 3), (-1, 4), (), (-1, -1), (6,), (0, 6)]
    ):
        same(
            lambda: shapes.unflatten_shape((2, 6), dim, sizes),
            lambda: zeros((2, 6)).unflatten(dim, sizes),
        )


def test_as_strided():
    for size, stride, offset in itertools.product(
        [(3, 3), (2,), ()], [(8, 8), (1, 1), (-1,), (3,), ()], (0, 5, 30)
    ):
        x = torch.zeros(4, 6, dtype=torch.int64)

        def mine():
            shapes.check_as_strided(size, stride, offset, 24, 8)
            return size

        same(mine, lambda: x.as_strided(size, stride, offset))


def test_slices():
    for start, stop, step in itertools.product(
        (None, -9, -2, 0, 3, 9), (None, -9, -1, 2, 9), (None, 1, 3, 0, -1)
    ):
        s = slice(start, stop, step)
        same(lambda: (shapes.slice_range(s, 5)[1],), lambda: torch.zeros(5)[s])
    for s in (slice(1, None, 2), slice(-3, -1)):
        first, length, step = shapes.slice_range(s, 5)
        x = torch.arange(5)
        assert x[s].tolist() == [first + i * step for i in range(length)]


def test_select_narrow_index():
    shape = (4, 6)
    for dim, index, length in itertools.product(range(-3, 3), range(-7, 8), (-1, 0, 2)):
        x = torch.arange(24).reshape(shape)

        def narrowed():
            d, first = shapes.narrow_range(shape, dim, index, length)
            return x.narrow(d, first, length)

        def selected():
            d, position = shapes.select_position(index, shape, dim)
            return x.select(d, position)

        for mine, theirs in (
            (narrowed, lambda: x.narrow(dim, index, length)),
            (selected, lambda: x.select(dim, index)),
        ):
            same(mine, theirs)
            if not isinstance(outcome(theirs)[0], str):
                assert mine().tolist() == theirs().tolist()
    for index in range(-6, 6):
        same(
            lambda: shapes.index_position(index, shape, 0) % 4, lambda: int(torch.arange(4)[index])
        )
    same(lambda: shapes.narrow_range((), 0, 0, 1), lambda: zeros(()).narrow(0, 0, 1))
    same(lambda: shapes.select_position(0, (), 0), lambda: zeros(()).select(0, 0))


def test_splitting():
    for size, parts in itertools.product(
        (0, 1, 5, 10), (-1, 0, 1, 3, 4, 12, [2, 3], [5, 5], [6, -1], [0, 5, 5])
    ):
        x = torch.zeros(size)
        same(lambda: [(n,) for n in shapes.split_sizes(size, parts)], lambda: x.split(parts))
        same(
            lambda: [(n,) for n in shapes.tensor_split_sizes(size, parts)],
            lambda: x.tensor_split(parts),
        )
        if isinstance(parts, int):
            same(lambda: [(n,) for n in shapes.chunk_sizes(size, parts)], lambda: x.chunk(parts))


def test_windows_and_diagonals():
    for dim, size, step in itertools.product((-1, 0, 2), (-1, 0, 2, 5), (0, 1, 3)):
        same(
            lambda: shapes.unfold_shape((4, 6), dim, size, step),
            lambda: zeros((4, 6)).unfold(dim, size, step),
        )
    same(lambda: shapes.unfold_shape((), 0, 1, 1), lambda: zeros(()).unfold(0, 1, 1))
    for offset, a, b in itertools.product((-7, -1, 0, 2, 9), (-3, 0, 1, 3), (0, 1, 2)):
        same(
            lambda: shapes.diagonal_shape((4, 6, 5), offset, a, b),
            lambda: zeros((4, 6, 5)).diagonal(offset, a, b),
        )


def test_cat_and_stack():
    groups = [
        [],
        [(2, 3), (4, 3)],
        [(2, 3), (2, 4)],
        [(2, 3), (2,)],
        [(0,), (2, 3)],
        [(2, 3), (0,)],
        [(), ()],
        [(0,)],
        [(0, 5), (2, 3)],
        [(2, 3, 4), (2, 3, 5)],
        [(2, 3), (2, 3)],
        [(2, 3), (3,), (2, 3)],
    ]
    for group, dim in itertools.product(groups, range(-3, 4)):
        same(
            lambda: shapes.cat_shape(group, dim), lambda: torch.cat([zeros(s) for s in group], dim)
        )
        same(
            lambda: shapes.stack_shape(group, dim),
            lambda: torch.stack([zeros(s) for s in group], dim),
        )


def test_products():
    rng = np.random.default_rng(6)
    for _ in range(1500):
        a, b = random_shape(rng, 4, 1, 4), random_shape(rng, 4, 1, 4)
        if a and len(b) > 1 and rng.random() < 0.6:
            b = (*b[:-2], a[-1], b[-1])
        same(lambda: shapes.matmul_shape(a, b), lambda: zeros(a) @ zeros(b))
        if len(a) < 4 and len(b) < 4:
            for name in ("mm", "mv", "dot"):
                rule = getattr(shapes, f"{name}_shape")
                if name == "mm" or (len(a), len(b)) in ((2, 1), (1, 1)):
                    same(lambda: rule(a, b), lambda: getattr(zeros(a), name)(zeros(b)))
            if len(a) == len(b) == 3:
                same(lambda: shapes.bmm_shape(a, b), lambda: zeros(a).bmm(zeros(b)))


def test_linear():
    weights = [(5, 3), (5, 4), (3,), (4,)]
    biases = [None, (5,), (4,), (1,), ()]
    for x, w, bias in itertools.product([(3,), (2, 3), (4, 2, 3), (2, 4)], weights, biases):
        if len(w) == 1 and bias is not None:
            continue
        b = None if bias is None else zeros(bias)
        same(lambda: shapes.linear_shape(x, w, bias), lambda: F.linear(zeros(x), zeros(w), b))


CONV = [
    {},
    {"stride": 2},
    {"stride": 0},
    {"stride": (1, 2, 3, 4)},
    {"padding": 1},
    {"padding": -1},
    {"dilation": 2},
    {"dilation": 0},
    {"groups": 0},
    {"groups": 2},
    {"groups": 3},
    {"stride": (2,)},
    {"dilation": 5},
    {"padding": (1, 1, 1, 1)},
]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_convolution(n):
    inputs = [(2, 4), (4,), (2, 3), (), (1, 2, 4), (0, 4)]
    weights = [(6, 4), (6, 2), (4, 4), (0, 4), (6,)]
    rng = np.random.default_rng(n)
    options = [
        *CONV,
        {"padding": "same"},
        {"padding": "valid"},
        {"padding": "same", "stride": 2},
        {"padding": "x"},
    ]
    for x, w, option in itertools.product(inputs, weights, options):
        x, w = (*x, *rng.integers(0, 9, n).tolist()), (*w, *rng.integers(1, 4, n).tolist())
        if n == 3 and len(w) < 3:
            continue
        bias = [None, None, (w[0],), (w[0] + 1,), (w[0], 1)][int(rng.integers(5))]
        b = None if bias is None else zeros(bias)
        call = getattr(F, f"conv{n}d")
        mine = lambda: shapes.conv_shape(n, x, w, bias, **option)
        same_convolution(mine, lambda: call(zeros(x), zeros(w), b, **option), option)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_transposed_convolution(n):
    inputs = [(2, 4), (4,), (2, 3), ()]
    weights = [(4, 6), (4, 2), (6, 4), (0, 4)]
    rng = np.random.default_rng(10 + n)
    extras = [
        {"stride": 2, "output_padding": 1},
        {"output_padding": 1},
        {"stride": 2, "output_padding": -1},
        {"padding": 4},
    ]
    for x, w, option in itertools.product(inputs, weights, [*CONV, *extras]):
        x, w = (*x, *rng.integers(1, 6, n).tolist()), (*w, *rng.integers(1, 4, n).tolist())
        bias = [None, None, (w[1],), (w[0] + 1,), (w[0], 1)][int(rng.integers(5))]
        b = None if bias is None else zeros(bias)
        call = getattr(F, f"conv_transpose{n}d")
        mine = lambda: shapes.conv_transpose_shape(n, x, w, bias, **option)
        same_convolution(mine, lambda: call(zeros(x), zeros(w), b, **option), option)


POOL = [
    {"kernel_size": 2},
    {"kernel_size": 3, "stride": 1},
    {"kernel_size": -1},
    {"kernel_size": 0},
    {"kernel_size": 2, "stride": 0},
    {"kernel_size": 2, "stride": -1},
    {"kernel_size": 3, "padding": 1},
    {"kernel_size": 2, "padding": -1},
    {"kernel_size": 2, "stride": []},
    {"kernel_size": 2, "padding": 2},
    {"kernel_size": 9},
    {"kernel_size": (1,) * 5},
    {"kernel_size": 2, "stride": (1,) * 5},
    {"kernel_size": 2, "padding": (1,) * 5},
    {"kernel_size": 3, "stride": 2, "ceil_mode": True},
    {"kernel_size": (2,)},
    {"kernel_size": 2, "stride": 3, "padding": 1, "ceil_mode": True},
    {"kernel_size": 0, "stride": 1},
]
DILATED = [
    {"kernel_size": 2, "dilation": 0},
    {"kernel_size": 2, "dilation": -1},
    {"kernel_size": 2, "dilation": 9},
    {"kernel_size": 2, "dilation": (1,) * 5},
    {"kernel_size": 2, "padding": 2, "dilation": 3},
    {"kernel_size": 2, "padding": 1, "dilation": 3},
    {"kernel_size": 3, "dilation": 2, "padding": 1, "ceil_mode": True},
]


@pytest.mark.parametrize("name", [f"{kind}_pool{n}d" for kind in ("max", "avg") for n in (1, 2, 3)])
def test_pooling(name):
    n = int(name[-2])
    call = getattr(F, name)
    for option in POOL + (DILATED if "max" in name else []):
        for size in (8, 7, 5):
            shape = (1, 3, *[size] * n)
            same(
                lambda: shapes.pool_shape(name, shape, **option),
                lambda: call(zeros(shape), **option),
            )
    for lead in [(), (3,), (0, 3), (1, 1, 1), (2, 0), (0,)]:
        shape = (*lead, *[8] * n)
        same(lambda: shapes.pool_shape(name, shape, 2), lambda: call(zeros(shape), 2))
    shape = (1, 3, 0, *[8] * (n - 1))
    same(lambda: shapes.pool_shape(name, shape, 2), lambda: call(zeros(shape), 2))


@pytest.mark.parametrize(
    "name", [f"adaptive_{kind}_pool{n}d" for kind in ("max", "avg") for n in (1, 2, 3)]
)
def test_adaptive_pooling(name):
    n = int(name[-2])
    call = getattr(F, name)
    for lead, out in itertools.product(
        [(1, 3), (3,), (0, 3), (2, 0), (0,), (1, 1, 1), ()], (2, 0, -1, (3,) * n, (1,) * 5)
    ):
        shape = (*lead, *range(4, 4 + n))
        same(lambda: shapes.adaptive_pool_shape(name, shape, out), lambda: call(zeros(shape), out))
    shape = (1, 3, *[0] * n)
    same(lambda: shapes.adaptive_pool_shape(name, shape, 2), lambda: call(zeros(shape), 2))
    if n > 1:
        out = (None, *[3] * (n - 1))
        shape = (1, 3, *[8] * n)
        same(lambda: shapes.adaptive_pool_shape(name, shape, out), lambda: call(zeros(shape), out))


def test_adaptive_windows():
    for size, out in itertools.product(range(1, 12), range(1, 12)):
        x = torch.arange(size, dtype=torch.float64)
        means = [x[slice(*shapes.adaptive_window(i, size, out))].mean().item() for i in range(out)]
        assert F.adaptive_avg_pool1d(x[None], out)[0].tolist() == pytest.approx(means)


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular", "other"])
def test_padding(mode):
    inputs = [
        (3,),
        (2, 3),
        (1, 2, 3),
        (1, 2, 3, 4),
        (1, 2, 3, 4, 5),
        (1, 1, 2, 3, 4, 5),
        (2, 0),
        (0, 3),
        (0, 2, 3),
        (1, 0, 3),
        (),
    ]
    pads = [
        (),
        (1,),
        (1, 1),
        (1, 1, 1),
        (1, 2, 3, 4),
        (1, 0, 0, 1, 1, 1),
        (3, 0),
        (0, 4),
        (-1, -1),
        (-2, -1),
        (-4, 1),
        (-3, 0),
    ]
    for shape, pad in itertools.product(inputs, pads):
        same(
            lambda: shapes.pad_shape(shape, pad, mode), lambda: F.pad(zeros(shape), pad, mode=mode)
        )


def test_unfold_and_fold():
    options = [
        {},
        {"stride": 2},
        {"padding": 1},
        {"dilation": 2},
        {"stride": 0},
        {"padding": -1},
        {"dilation": 0},
    ]
    for shape, kernel, option in itertools.product(
        [
            (1, 3, 8, 8),
            (3, 8, 8),
            (0, 3, 8, 8),
            (2, 0, 8, 8),
            (1, 3, 2, 2),
            (8, 8),
            (3,),
            (1, 1, 3, 8, 8),
        ],
        (2, 3, 0, (2, 3), (2, 2, 2)),
        options,
    ):
        mine = lambda: shapes.unfold_windows_shape(shape, kernel, **option)
        same(mine, lambda: F.unfold(zeros(shape), kernel, **option))
    for shape, size, option in itertools.product(
        [(1, 12, 16), (12, 16), (1, 12, 15), (1, 13, 16), (0, 12, 16), (12,), (1, 12, 0)],
        [5, (5, 5), (1, 1), (5,), (-5, 5)],
        options,
    ):
        same(
            lambda: shapes.fold_shape(shape, size, 2, **option),
            lambda: F.fold(zeros(shape), size, 2, **option),
        )


def test_new_sizes():
    for sizes in [(2, 3), (-1,), (2, -3), ()]:
        same(lambda: shapes.checked_sizes(sizes), lambda: torch.empty(sizes))
