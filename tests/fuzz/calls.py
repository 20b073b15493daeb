"""Random calls of public functions with arguments that fit: what the fuzzer of compiled operations
starts from.

Each family of functions has a generator, which draws sizes (empty ones, too), parameters and
positions. The calls are data as in arguments.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

Call = tuple[str, list[Any], dict[str, Any]]
FAMILIES: list[tuple[Callable[[Any], Call], int]] = []
SMALL = 600  # elements

UNARY = (
    "abs acos acosh angle asin asinh atan atanh ceil cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 floor frac i0 isfinite isinf isnan "
    "lgamma log log10 log1p log2 logical_not logit neg positive rad2deg reciprocal relu round rsqrt sigmoid sign signbit sin sinc sinh "
    "sqrt square tan tanh trunc nan_to_num"
).split()
ACTIVATIONS = (
    "celu elu gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish relu6 selu silu softplus softshrink softsign tanhshrink"
).split()
BINARY = (
    "add sub mul div atan2 copysign fmax fmin fmod heaviside hypot logaddexp logaddexp2 maximum minimum nextafter pow remainder xlogy eq ne lt le "
    "gt ge logical_and logical_or logical_xor floor_divide true_divide"
).split()
WHOLE = "bitwise_and bitwise_or bitwise_xor gcd lcm bitwise_left_shift bitwise_right_shift".split()
REDUCTIONS = "sum mean prod amax amin all any logsumexp std var nansum nanmean count_nonzero norm argmax argmin max min median nanmedian".split()
SCANS = "cumsum cumprod logcumsumexp cummax cummin softmax log_softmax sort argsort msort flip fliplr flipud".split()
LOSSES = "mse_loss l1_loss smooth_l1_loss huber_loss kl_div binary_cross_entropy_with_logits soft_margin_loss poisson_nll_loss".split()
POOLS = "max_pool avg_pool adaptive_avg_pool adaptive_max_pool lp_pool".split()


def family(weight: int) -> Callable[[Callable[[Any], Call]], Callable[[Any], Call]]:
    def register(generator: Callable[[Any], Call]) -> Callable[[Any], Call]:
        FAMILIES.append((generator, weight))
        return generator

    return register


def floats(r: Any, *shape: int, dtype: str | None = None) -> dict[str, Any]:
    return {
        "array": {
            "shape": list(shape),
            "dtype": dtype or "float32",
            "fill": ["normal", r.randrange(1 << 20)],
        }
    }


def whole(r: Any, low: int, high: int, *shape: int, dtype: str = "int64") -> dict[str, Any]:
    return {
        "array": {
            "shape": list(shape),
            "dtype": dtype,
            "fill": ["integers", r.randrange(1 << 20), low, high],
        }
    }


def rising(n: int) -> dict[str, Any]:
    """Boundaries, which are sorted."""
    steps = [[k, (k - n // 2) / 2] for k in range(n)]
    return {"array": {"shape": [n], "dtype": "float32", "fill": ["constant", 0], "pokes": steps}}


def mask(r: Any, *shape: int) -> dict[str, Any]:
    return whole(r, 0, 2, *shape, dtype="bool")


def kind(r: Any) -> str:
    return r.choice(
        ["float32"] * 6
        + ["float64"] * 2
        + ["float16", "bfloat16", "int64", "int32", "bool", "uint8"]
    )


def size(r: Any) -> int:
    return r.choice([1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 40])


def shape(r: Any, least: int = 0, most: int = 4) -> list[int]:
    """Sizes of an array. Most arrays are small, since large ones cost time and find little, but
    kernels have paths for large ones.
    """
    n = r.randint(least, most)
    large = r.random() < 0.05
    while True:
        found = [size(r) if n < 3 else r.choice([1, 2, 3, 5, 8]) for _ in range(n)]
        if large or math.prod(found) <= SMALL:
            return found


def one_dim(r: Any, n: int) -> int:
    return r.randrange(-n, n) if n else -1


@family(4)
def unary(r: Any) -> Call:
    return r.choice(UNARY), [floats(r, *shape(r), dtype=kind(r))], {}


@family(2)
def activation(r: Any) -> Call:
    return f"nn.functional.{r.choice(ACTIVATIONS)}", [floats(r, *shape(r))], {}


@family(4)
def binary(r: Any) -> Call:
    a = shape(r)
    b = [s if r.random() < 0.8 else 1 for s in a][r.choice([0, 0, 0, 1]) :]
    first = kind(r)
    other: Any = floats(r, *b, dtype=first if r.random() < 0.7 else kind(r))
    if r.random() < 0.2:
        other = r.choice([2, -1.5, 0, True])
    return r.choice(BINARY), [floats(r, *a, dtype=first), other], {}


@family(1)
def whole_numbers(r: Any) -> Call:
    a = shape(r)
    return r.choice(WHOLE), [whole(r, 0, 9, *a), whole(r, 0, 9, *a)], {}


@family(1)
def three(r: Any) -> Call:
    a = shape(r)
    x, y, z = (floats(r, *a) for _ in range(3))
    return r.choice(
        [
            ("where", [mask(r, *a), x, y], {}),
            ("lerp", [x, y, z], {}),
            ("lerp", [x, y, 0.3], {}),
            ("addcmul", [x, y, z], {"value": 2}),
            ("addcdiv", [x, y, z], {}),
            ("clamp", [x], {"min": -0.5, "max": 0.5}),
            ("clamp", [x, y, z], {}),
            ("masked_fill", [x, mask(r, *a), 2.0], {}),
            ("nn.functional.threshold", [x, 0.1, 2.0], {}),
            ("nn.functional.prelu", [floats(r, 2, 3, 4), floats(r, r.choice([1, 3]))], {}),
        ]
    )


@family(5)
def reduction(r: Any) -> Call:
    name = r.choice(REDUCTIONS)
    a = shape(r)
    kwargs: dict[str, Any] = {}
    if r.random() < 0.75 and a:
        kwargs["dim"] = one_dim(r, len(a))
        kwargs["keepdim"] = r.random() < 0.5
        if (
            name in ("sum", "mean", "amax", "amin", "std", "var", "nansum", "logsumexp")
            and r.random() < 0.4
        ):
            kwargs["dim"] = {"tuple": sorted(r.sample(range(len(a)), r.randint(1, len(a))))}
    elif name == "logsumexp":
        kwargs["dim"] = 0
    if name in ("sum", "prod", "mean") and r.random() < 0.2:
        kwargs["dtype"] = {"dtype": r.choice(["float64", "float32"])}
    return name, [floats(r, *a, dtype=kind(r) if r.random() < 0.4 else "float32")], kwargs


@family(3)
def scan(r: Any) -> Call:
    name = r.choice(SCANS)
    a = shape(r, 2 if name.startswith("flip") else 0, 3)
    x = floats(r, *a, dtype=r.choice(["float32", "float32", "float64", "int64"]))
    if name in ("fliplr", "flipud", "msort"):
        return name, [x], {}
    if name == "flip":
        return name, [x, {"list": [one_dim(r, len(a))]}], {}
    return (
        name,
        [x],
        {"dim": one_dim(r, len(a))}
        | ({"descending": True} if name == "sort" and r.random() < 0.5 else {}),
    )


@family(2)
def select(r: Any) -> Call:
    a = shape(r, 1, 3)
    d = r.randrange(len(a))
    x = floats(r, *a, dtype=r.choice(["float32", "float32", "float64", "int64"]))
    return r.choice(
        [
            ("topk", [x, r.randint(0, a[d])], {"dim": d, "largest": r.random() < 0.5}),
            ("kthvalue", [x, r.randint(1, a[d])], {"dim": d}),
            ("mode", [x], {"dim": d}),
            ("quantile", [floats(r, *a), 0.3], {"dim": d}),
            ("aminmax", [x], {"dim": d}),
            ("unique", [whole(r, 0, 5, *a)], {}),
            ("nonzero", [whole(r, 0, 2, *a)], {}),
            ("bincount", [whole(r, 0, 9, size(r))], {}),
            ("histc", [floats(r, *a)], {"bins": 5, "min": -1, "max": 1}),
            ("searchsorted", [rising(9), floats(r, *a)], {"right": r.random() < 0.5}),
            ("bucketize", [floats(r, *a), rising(7)], {}),
        ]
    )


@family(8)
def index(r: Any) -> Call:
    a = shape(r, 1, 3)
    d = r.randrange(len(a))
    n = a[d]
    m = size(r)
    x = floats(r, *a, dtype=r.choice(["float32"] * 4 + ["float64", "int64", "float16"]))
    kind_x = x["array"]["dtype"]
    picked = [*a[:d], m, *a[d + 1 :]]
    at = whole(r, 0, n, m, dtype=r.choice(["int64", "int64", "int32"]))
    places = whole(r, 0, n, *picked)
    source = floats(r, *picked, dtype=kind_x)
    total = 1
    for s in a:
        total *= s
    return r.choice(
        [
            ("index_select", [x, d, at], {}),
            ("index_select", [x, d, at], {}),
            ("gather", [x, d, places], {}),
            ("gather", [x, d, places], {}),
            ("take_along_dim", [x, places, d], {}),
            ("take", [x, whole(r, -total, total, *shape(r, 0, 2))], {}),
            ("scatter", [x, d, whole(r, 0, n, *picked), source], {}),
            ("scatter", [x, d, places, 1.5 if "float" in kind_x else 2], {}),
            ("scatter", [x, d, places, source], {"reduce": r.choice(["add", "multiply"])}),
            ("scatter_add", [x, d, places, source], {}),
            (
                "scatter_reduce",
                [x, d, places, source, r.choice(["sum", "prod", "mean", "amax", "amin"])],
                {"include_self": r.random() < 0.5},
            ),
            ("index_add", [x, d, at, source], {}),
            ("index_copy", [x, d, at, source], {}),
            ("index_fill", [x, d, at, 2], {}),
            ("index_reduce", [x, d, at, source, r.choice(["prod", "mean", "amax", "amin"])], {}),
            (
                "index_put",
                [x, {"tuple": [whole(r, -a[0], a[0], m)]}, floats(r, *a[1:], dtype=kind_x)],
                {"accumulate": r.random() < 0.5},
            ),
            ("Tensor.__getitem__", [x, whole(r, -a[0], a[0], *shape(r, 0, 2))], {}),
            (
                "Tensor.__getitem__",
                [x, {"tuple": [{"slice": [None, None, None]}] * d + [whole(r, -n, n, m)]}],
                {},
            ),
            ("Tensor.__getitem__", [x, {"tuple": [whole(r, -s, s, m) for s in a]}], {}),
            ("Tensor.__getitem__", [x, mask(r, *a)], {}),
            (
                "Tensor.__setitem__",
                [x, whole(r, -a[0], a[0], m), floats(r, *a[1:], dtype=kind_x)],
                {},
            ),
            ("Tensor.__setitem__", [x, mask(r, *a), 1], {}),
            (
                "Tensor.put_",
                [x, whole(r, -total, total, m), floats(r, m, dtype=kind_x)],
                {"accumulate": r.random() < 0.5},
            ),
            ("masked_scatter", [x, mask(r, *a), floats(r, max(total, 1), dtype=kind_x)], {}),
            ("masked_select", [x, mask(r, *a)], {}),
            ("repeat_interleave", [x, whole(r, 0, 3, n)], {"dim": d}),
            ("nn.functional.one_hot", [whole(r, 0, 6, *shape(r, 0, 2))], {"num_classes": 6}),
        ]
    )


@family(4)
def embedding(r: Any) -> Call:
    rows, width, count = size(r), r.choice([1, 3, 8, 16, 17]), size(r)
    w = floats(r, rows, width, dtype=r.choice(["float32", "float32", "float64"]))
    if r.random() < 0.4:
        kwargs = r.choice([{}, {"padding_idx": 0}, {"scale_grad_by_freq": True}, {"max_norm": 1.0}])
        return "nn.functional.embedding", [whole(r, 0, rows, *shape(r, 0, 2)), w], kwargs
    kwargs = {"mode": r.choice(["sum", "mean", "max"])}
    if r.random() < 0.3:
        kwargs["padding_idx"] = r.randrange(rows)
    if r.random() < 0.3:
        return (
            "nn.functional.embedding_bag",
            [whole(r, 0, rows, count, r.choice([1, 2, 4])), w],
            kwargs,
        )
    bags = sorted(r.randint(0, count) for _ in range(r.randint(0, 3)))
    offsets: dict[str, Any] = {
        "array": {"shape": [len(bags) + 1], "dtype": "int64", "fill": ["constant", 0], "pokes": []}
    }
    offsets["array"]["pokes"] = [[k + 1, v] for k, v in enumerate(bags)]
    if kwargs["mode"] == "sum" and r.random() < 0.4:
        kwargs["per_sample_weights"] = floats(r, count, dtype=w["array"]["dtype"])
    if r.random() < 0.3:
        kwargs["include_last_offset"] = True
    return "nn.functional.embedding_bag", [whole(r, 0, rows, count), w, offsets], kwargs


@family(4)
def labelled(r: Any) -> Call:
    n, c = size(r), r.choice([1, 2, 5, 10, 33])
    more = r.choice([[], [], [3], [2, 2]])
    x = floats(r, n, c, *more, dtype=r.choice(["float32", "float32", "float64"]))
    y = whole(r, 0, c, n, *more)
    reduction = {"reduction": r.choice(["mean", "sum", "none"])}
    return r.choice(
        [
            (
                "nn.functional.cross_entropy",
                [x, y],
                reduction | r.choice([{}, {"label_smoothing": 0.1}, {"ignore_index": 1}]),
            ),
            (
                "nn.functional.cross_entropy",
                [x, y],
                {"weight": floats(r, c, dtype=x["array"]["dtype"])} | reduction,
            ),
            ("nn.functional.nll_loss", [x, y], reduction),
            ("nn.functional.multi_margin_loss", [floats(r, n, c), whole(r, 0, c, n)], reduction),
            (
                "nn.functional.multilabel_margin_loss",
                [floats(r, n, c), whole(r, -1, c, n, c)],
                reduction,
            ),
            (
                "nn.functional.binary_cross_entropy",
                [
                    {"array": {"shape": [n], "dtype": "float32", "fill": ["constant", 0.4]}},
                    mask_float(r, n),
                ],
                reduction,
            ),
        ]
    )


def mask_float(r: Any, *shape: int) -> dict[str, Any]:
    return whole(r, 0, 2, *shape, dtype="float32")


@family(2)
def loss(r: Any) -> Call:
    a = shape(r)
    return (
        f"nn.functional.{r.choice(LOSSES)}",
        [floats(r, *a), floats(r, *a)],
        {"reduction": r.choice(["mean", "sum", "none"])},
    )


@family(1)
def ctc(r: Any) -> Call:
    steps, batch, classes = r.choice([3, 6, 12]), r.choice([1, 2, 4]), r.choice([2, 5])
    longest = r.choice([1, 2, 3])
    lengths = whole(r, 1, steps + 1, batch), whole(r, 0, longest + 1, batch)
    return (
        "nn.functional.ctc_loss",
        [floats(r, steps, batch, classes), whole(r, 1, classes, batch, longest), *lengths],
        {
            "reduction": r.choice(["mean", "sum", "none"]),
            "zero_infinity": r.random() < 0.5,
        },
    )


@family(4)
def convolution(r: Any) -> Call:
    n = r.choice([1, 2, 2, 3])
    groups = r.choice([1, 1, 1, 2])
    inner, outer = groups * r.choice([1, 3, 8]), groups * r.choice([1, 4, 9])
    transposed = r.random() < 0.3
    kernel = [r.choice([1, 2, 3]) for _ in range(n)]
    dtype = r.choice(["float32", "float32", "float32", "float64"])
    x = floats(
        r, r.choice([1, 2, 3]), inner, *(r.choice([4, 5, 8, 13]) for _ in range(n)), dtype=dtype
    )
    w = (
        floats(r, inner, outer // groups, *kernel, dtype=dtype)
        if transposed
        else floats(r, outer, inner // groups, *kernel, dtype=dtype)
    )
    kwargs: dict[str, Any] = {"groups": groups}
    if r.random() < 0.5:
        kwargs["bias"] = floats(r, outer, dtype=dtype)
    if r.random() < 0.5:
        kwargs |= {
            "stride": r.choice([1, 2, 3]),
            "padding": r.choice([0, 1, 2]),
            "dilation": r.choice([1, 1, 2]),
        }
    return f"nn.functional.conv{'_transpose' * transposed}{n}d", [x, w], kwargs


@family(3)
def pool(r: Any) -> Call:
    n = r.choice([1, 2, 2, 3])
    name = r.choice(POOLS)
    x = floats(
        r,
        r.choice([1, 2]),
        r.choice([1, 3, 8]),
        *(r.choice([4, 5, 8, 9]) for _ in range(n)),
        dtype=r.choice(["float32", "float32", "float64"]),
    )
    if name.startswith("adaptive"):
        return (
            f"nn.functional.{name}{n}d",
            [x, r.choice([1, 2, 3, 7])],
            {"return_indices": True} if "max" in name and r.random() < 0.3 else {},
        )
    if name == "lp_pool":
        return f"nn.functional.lp_pool{n}d", [x, 2, 2], {}
    kwargs: dict[str, Any] = {
        "stride": r.choice([1, 2, 3]),
        "padding": r.choice([0, 0, 1]),
        "ceil_mode": r.random() < 0.3,
    }
    if name == "max_pool" and r.random() < 0.3:
        kwargs |= {"dilation": 2, "return_indices": True}
    return f"nn.functional.{name}{n}d", [x, r.choice([2, 3])], kwargs


@family(2)
def spatial(r: Any) -> Call:
    x = floats(r, r.choice([1, 2]), r.choice([1, 3, 4]), r.choice([3, 4, 7]), r.choice([2, 5, 8]))
    n, c, h, w = x["array"]["shape"]
    return r.choice(
        [
            (
                "nn.functional.interpolate",
                [x],
                {
                    "size": {"list": [r.choice([1, 2, 5]), 6]},
                    "mode": r.choice(["nearest", "bilinear", "bicubic", "area"]),
                },
            ),
            (
                "nn.functional.interpolate",
                [x],
                {
                    "scale_factor": r.choice([0.5, 2, 1.7]),
                    "mode": r.choice(["nearest", "bilinear"]),
                },
            ),
            (
                "nn.functional.grid_sample",
                [x, floats(r, n, 3, 4, 2)],
                {
                    "mode": r.choice(["bilinear", "nearest", "bicubic"]),
                    "padding_mode": r.choice(["zeros", "border", "reflection"]),
                    "align_corners": r.random() < 0.5,
                },
            ),
            (
                "nn.functional.pad",
                [x, {"list": [r.choice([0, 1, 2]) for _ in range(4)]}],
                {"mode": r.choice(["constant", "reflect", "replicate", "circular"])},
            ),
            (
                "nn.functional.pad",
                [x, {"list": [r.choice([-1, 0, 2]) for _ in range(4)]}],
                {"value": 2.0},
            ),
            (
                "nn.functional.unfold",
                [x, 2],
                {"padding": r.choice([0, 1]), "stride": r.choice([1, 2])},
            ),
            ("nn.functional.fold", [floats(r, n, c * 4, 12), {"list": [4, 5]}, 2], {}),
            (
                "nn.functional.max_unpool2d",
                [floats(r, n, c, 2, 2), whole(r, 0, 16, n, c, 2, 2), 2],
                {},
            ),
            ("nn.functional.pixel_shuffle", [floats(r, n, 4 * c, h, w), 2], {}),
            ("nn.functional.local_response_norm", [x, 2], {}),
        ]
    )


@family(4)
def normal(r: Any) -> Call:
    n, c = r.choice([1, 2, 5]), r.choice([2, 4, 6, 17])
    x = floats(
        r, n, c, *r.choice([[], [3], [4, 5]]), dtype=r.choice(["float32", "float32", "float64"])
    )
    dtype = x["array"]["dtype"]
    a = x["array"]["shape"]
    keep = r.randint(1, len(a))
    inner = a[len(a) - keep :]
    w = (
        {"weight": floats(r, *inner, dtype=dtype), "bias": floats(r, *inner, dtype=dtype)}
        if r.random() < 0.7
        else {}
    )
    channel = (
        {"weight": floats(r, c, dtype=dtype), "bias": floats(r, c, dtype=dtype)}
        if r.random() < 0.7
        else {}
    )
    running = {"array": {"shape": [c], "dtype": dtype, "fill": ["constant", 0.5]}}
    return r.choice(
        [
            ("nn.functional.layer_norm", [x, {"list": inner}], w),
            ("nn.functional.layer_norm", [x, {"list": inner}], w),
            (
                "nn.functional.rms_norm",
                [x, {"list": inner}],
                {k: v for k, v in w.items() if k == "weight"},
            ),
            (
                "nn.functional.batch_norm",
                [x, running, running],
                channel | {"training": r.random() < 0.6},
            ),
            ("nn.functional.batch_norm", [x, None, None], channel | {"training": True}),
            ("nn.functional.group_norm", [x, r.choice([1, c])], channel),
            ("nn.functional.instance_norm", [floats(r, n, c, 3, 4)], {}),
            (
                "nn.functional.normalize",
                [x],
                {"dim": one_dim(r, len(a)), "p": r.choice([1.0, 2.0])},
            ),
        ]
    )


@family(4)
def product(r: Any) -> Call:
    b, n, k, m = r.choice([1, 2, 3]), size(r), size(r), size(r)
    dtype = r.choice(["float32", "float32", "float64", "int64", "bfloat16"])
    one, two = floats(r, n, k, dtype=dtype), floats(r, k, m, dtype=dtype)
    many, others = floats(r, b, n, k, dtype=dtype), floats(r, b, k, m, dtype=dtype)
    return r.choice(
        [
            ("mm", [one, two], {}),
            ("matmul", [one, two], {}),
            ("matmul", [many, two], {}),
            ("matmul", [many, others], {}),
            ("bmm", [many, others], {}),
            ("mv", [one, floats(r, k, dtype=dtype)], {}),
            ("dot", [floats(r, k, dtype=dtype), floats(r, k, dtype=dtype)], {}),
            ("outer", [floats(r, n, dtype=dtype), floats(r, m, dtype=dtype)], {}),
            (
                "addmm",
                [floats(r, n, m, dtype=dtype), one, two],
                {"beta": r.choice([0, 1, 2]), "alpha": r.choice([1, 3])},
            ),
            ("baddbmm", [floats(r, b, n, m, dtype=dtype), many, others], {}),
            ("addmv", [floats(r, n, dtype=dtype), one, floats(r, k, dtype=dtype)], {}),
            ("addbmm", [floats(r, n, m, dtype=dtype), many, others], {}),
            (
                "nn.functional.linear",
                [many, floats(r, m, k, dtype=dtype), floats(r, m, dtype=dtype)],
                {},
            ),
            (
                "nn.functional.bilinear",
                [floats(r, n, k), floats(r, n, m), floats(r, 3, k, m), floats(r, 3)],
                {},
            ),
            ("einsum", ["bij,bjk->bik", many, others], {}),
            ("einsum", ["ij,jk->ki", one, two], {}),
            ("tensordot", [one, two, 1], {}),
            ("cdist", [floats(r, n, k), floats(r, m, k)], {"p": r.choice([1.0, 2.0, 3.0])}),
            ("kron", [floats(r, 2, 3), floats(r, 3, 2)], {}),
        ]
    )


@family(4)
def attention(r: Any) -> Call:
    lead = r.choice([[2, 3], [1, 1], [2], []])
    queries, keys, width, out = (
        r.choice([1, 5, 17, 65]),
        r.choice([1, 7, 33]),
        r.choice([1, 4, 8, 16]),
        r.choice([1, 8, 16]),
    )
    dtype = r.choice(["float32", "float32", "float32", "float64"])
    kwargs: dict[str, Any] = r.choice(
        [
            {},
            {"is_causal": True},
            {"attn_mask": floats(r, queries, keys, dtype=dtype)},
            {"attn_mask": mask(r, queries, keys)},
        ]
    )
    args = [
        floats(r, *lead, queries, width, dtype=dtype),
        floats(r, *lead, keys, width, dtype=dtype),
        floats(r, *lead, keys, out, dtype=dtype),
    ]
    return "nn.functional.scaled_dot_product_attention", args, kwargs


@family(4)
def view(r: Any) -> Call:
    a = shape(r, 2, 3)
    d, e = r.sample(range(len(a)), 2)
    x = floats(r, *a, dtype=kind(r))
    total = 1
    for s in a:
        total *= s
    return r.choice(
        [
            ("transpose", [x, d, e], {}),
            ("reshape", [x, {"list": [total]}], {}),
            ("reshape", [x, {"list": [-1, a[-1]]}], {}),
            ("flatten", [x], {}),
            ("Tensor.view", [x, -1], {}),
            ("Tensor.view", [x, a[0], -1], {}),
            ("narrow", [x, d, 0, a[d]], {}),
            ("select", [x, d, r.randrange(a[d])], {}),
            ("squeeze", [x], {}),
            ("unsqueeze", [x, d], {}),
            ("Tensor.expand", [floats(r, 1, a[-1]), 3, a[-1]], {}),
            ("diagonal", [x], {"offset": r.choice([0, 1, -1])}),
            ("tril", [x], {"diagonal": r.choice([0, 1, -1])}),
            ("triu", [x], {}),
            ("Tensor.repeat", [x, 2, *([1] * (len(a) - 1))], {}),
            ("cat", [{"list": [x, x]}, d], {}),
            ("stack", [{"list": [x, x]}, d], {}),
            ("roll", [x, r.choice([1, -2]), d], {}),
            ("rot90", [x], {}),
            ("Tensor.unfold", [x, d, 1, r.choice([1, 2])], {}),
            ("movedim", [x, d, e], {}),
            ("split", [x, r.choice([1, 2])], {"dim": d}),
            ("chunk", [x, 2, d], {}),
            ("Tensor.contiguous", [x], {}),
            ("Tensor.clone", [x], {}),
            ("Tensor.to", [x, {"dtype": kind(r)}], {}),
            ("as_strided", [x, {"list": [2, 2]}, {"list": [1, 2]}], {}),
            ("diag_embed", [x], {}),
            ("Tensor.copy_", [x, floats(r, *a)], {}),
            ("Tensor.fill_", [x, 2], {}),
            ("trace", [floats(r, *a[:2])], {}),
            ("diff", [x], {"dim": d}),
            ("Tensor.zero_", [x], {}),
            ("nn.functional.glu", [floats(r, 3, 8)], {}),
            ("block_diag", [floats(r, 2, 3), floats(r, 1, 2)], {}),
            ("cross", [floats(r, 4, 3), floats(r, 4, 3)], {"dim": 1}),
        ]
    )


@family(2)
def random_numbers(r: Any) -> Call:
    a = shape(r)
    x = floats(r, *a)
    p = {"array": {"shape": r.choice([[5], [3, 4]]), "dtype": "float32", "fill": ["constant", 0.3]}}
    return r.choice(
        [
            ("nn.functional.dropout", [x, 0.5, True], {}),
            ("bernoulli", [p], {}),
            ("multinomial", [p, r.choice([1, 2, 3])], {"replacement": r.random() < 0.5}),
            ("rand_like", [x], {}),
            ("randn_like", [x], {}),
            ("Tensor.normal_", [x], {}),
            ("Tensor.uniform_", [x], {}),
            ("Tensor.exponential_", [x], {}),
            ("randperm", [size(r)], {}),
            ("randint", [0, 9, {"list": a}], {}),
            ("nn.functional.alpha_dropout", [x, 0.3, True], {}),
            ("poisson", [p], {}),
        ]
    )


@family(1)
def recurrent(r: Any) -> Call:
    name = r.choice(["LSTM", "GRU", "RNN"])
    steps, batch, inner, hidden = (
        r.choice([1, 3, 6]),
        r.choice([1, 2, 9]),
        r.choice([1, 4, 8]),
        r.choice([1, 5, 16]),
    )
    return (
        f"nn.{name}",
        [floats(r, steps, batch, inner)],
        {"init": [inner, hidden], "bidirectional": r.random() < 0.3},
    )


def draw(random: Any) -> dict[str, Any]:
    """A call as arguments.py describes it."""
    generators, weights = zip(*FAMILIES, strict=True)
    name, args, kwargs = random.choices(generators, weights)[0](random)
    case = {"call": name, "form": "function", "args": args, "kwargs": kwargs, "seed": 1}
    if "init" in kwargs:
        case |= {
            "form": "module",
            "init": kwargs.pop("init"),
            "init_kwargs": dict(kwargs),
            "kwargs": {},
        }
    return case
