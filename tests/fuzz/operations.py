"""Single operations against PyTorch: results, types, shapes, refusals, gradients and what is left
in the arguments.

The calls are those of PyTorch's operator and module samples, varied: empty sizes, other shapes,
dtypes and layouts, special values, positions out of range, numbers for tensors. Arguments and
results of this library lie at guard pages.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import math
import os
import random as random_module
import re
import resource
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import arguments
import guard
import harness

import pellucid

# in the driver's process: each case has one of its own, forked from it
with contextlib.suppress(ImportError):
    import torch as _  # noqa: F401

NEEDS_TORCH = True
DRAWN = Path("build/fuzz/samples")  # PyTorch's samples, which take longer to make than to run
SAMPLES = 40  # of an operator and dtype
BIG = 5_000  # elements of arguments that are left out
MEMORY = 6 << 30
ULPS = {
    "float32": 16,
    "float64": 64,
    "float16": 4,
    "bfloat16": 4,
    "complex64": 16,
    "complex128": 64,
}

# Memory that nobody wrote, other hardware, and what is no operation.
LEFT_OUT = re.compile(
    r"(new_)?empty|resize_|jiterator_|torch\._scaled_mm|.*_(flash|efficient)_attention_forward|bmm/triton|_(?!_)|torch\.(ops|_)|native_"
    r"|max_pool2d_with_indices_backward|grid_sampler_|hash_tensor|sparse\.|to_sparse|nn\.functional\.(scaled_)?grouped_mm|svd_lowrank|pca_lowrank"
)
# Results that are defined up to signs, phases or an order.
GAUGE = re.compile(
    r"(linalg\.)?(svd|eig|eigh|qr|eigvals|lu|lstsq|ldl\w*)$|geqrf$|symeig$|lobpcg|lu_unpack|lu_solve|linalg\.lu\w*$|ormqr"
)
# PyTorch's own code crashes or reads memory of others for some arguments of these.
UNSAFE_THERE = re.compile(
    r"ormqr|nn\.functional\.embedding_bag|segment_reduce|ctc_loss|CTCLoss|as_strided|lu_solve|ldl_solve|lu_unpack|unfold_copy"
)
TIES = {
    "sort",
    "argsort",
    "topk",
    "kthvalue",
    "mode",
    "median",
    "nanmedian",
    "msort",
    "min",
    "max",
    "cummax",
    "cummin",
    "argmax",
    "argmin",
    "aminmax",
}

COMPARISONS = {
    "gt",
    "lt",
    "ge",
    "le",
    "eq",
    "ne",
    "logical_and",
    "logical_or",
    "logical_xor",
    "logical_not",
}

KNOWN: dict[str, str] = {
    "accepted where PyTorch has no kernel": "NumPy has one for every element type",
    "refused out= of what requires grad": "out= is never differentiated; some functions of PyTorch copy into it and keep a history",
    "accepted, linalg.vander": "powers of two-byte numbers are like others",
    "result nan, nn.MultiLabelMarginLoss": "differences of NaN, which PyTorch takes for no loss",
    "result nan, nn.functional.multilabel_margin_loss": "differences of NaN, which PyTorch takes for no loss",
    "result value, nn.CircularPad": "PyTorch reads memory that it has not written where one side is cut off",
    "gradient value, nn.CircularPad": "PyTorch reads memory that it has not written where one side is cut off",
    "refused of nothing": "a kernel that is not there is missed whatever the size; PyTorch misses it where there is something to compute",
    "gradient value, digamma float64": "PyTorch's trigamma is off by 1e3 units in the last place",
    "gradient value, scatter_reduce": (
        "PyTorch's backward is only for a source of the index's shape, and its rest gets numbers"
    ),
    "gradient nan, renorm": "the gradient of a norm that is not a number is none either",
    "argument value, cov": "PyTorch writes to its argument",
    "gradient of one of several equal elements": "which of them is chosen, nobody promises",
    "accepted out= that PyTorch does not have": "one way to write into given tensors serves all functions",
    "accepted without a derivative in PyTorch": "what PyTorch refuses to differentiate is differentiated here, or counts as a constant",
    "accepted where PyTorch's FFT library fails": "an FFT of no elements has no elements",
    "accepted where PyTorch fails inside": "an assertion of its own, which it asks to be told of",
    "accepted, nn.ReplicationPad1d": "padding of no channels",
    "accepted, nn.functional.avg_pool3d": "PyTorch compares the kernel with the image without its padding",
    "accepted, nn.AvgPool3d": "PyTorch compares the kernel with the image without its padding",
    "accepted, nn.Hardtanh": "limits are taken in the type of the numbers",
    "accepted, nn.functional.conv_transpose": "a convolution without channels has no results",
    "accepted, norm": "a norm of no matrices",
    "accepted, Tensor.": "memory formats that do not fit the number of dimensions are not looked at",
    "accepted where PyTorch wants a view": "a copy is made where there is no view",
    "accepted of another type": "numbers that are whole count as integers, and numbers as tensors of no dimensions",
    "accepted with mixed types": "types are promoted, also where there is nothing to compute",
    "accepted, nn.functional.fractional_max_pool": "images without channels, and windows as large as what is left",
    "accepted, nn.functional.adaptive_avg_pool": "means of integers",
    "accepted, nn.AdaptiveAvgPool": "a size that is left out is the input's",
    "accepted, nn.HingeEmbeddingLoss": "means of integers",
    "accepted, nn.functional.hinge_embedding_loss": "means of integers",
    "accepted, linalg.vecdot": "a sum of products",
    "accepted, gradient": "differences of bytes",
    "accepted, renorm": "a norm of nothing is 0",
    "accepted, unique": "nothing has no distinct elements",
    "accepted, nn.ReflectionPad": "padding of no channels",
    "accepted, nn.functional.hardtanh": "limits are taken in the type of the numbers",
    "accepted, cholesky_inverse": "of a matrix with NaN",
    "accepted, diag": "numbers that are whole count as integers",
    "accepted, nn.LogSoftmax": "numbers are looked at by the operation that needs them, and no rows need none",
    "gradient accepted": "what PyTorch refuses to differentiate is differentiated here",
    "gradient of a comparison in place": "a comparison has no derivative: PyTorch hands the gradient through it or gives zeros",
    "written in place over itself": "elements that share memory are written in an order that nobody promises",
    "requires_grad of a comparison in place": "a comparison has no derivative",
    "result nan, special.zeta": "the limit at infinity, where PyTorch adds infinities up",
    "requires_grad, special.": "functions that PyTorch does not differentiate",
    "requires_grad, linalg.lstsq": "a result that PyTorch does not differentiate",
    "requires_grad, linalg.norm": "a norm of nothing",
    "requires_grad, geqrf": "PyTorch has no derivative and says so in backward; here the result is a constant",
    "requires_grad, heaviside": "PyTorch has no derivative and says so in backward; here the result is a constant",
    "requires_grad, histogram": "PyTorch has no derivative and says so in backward; here the result is a constant",
    "requires_grad, linalg.ldl_factor": "PyTorch has no derivative and says so in backward; here the result is a constant",
    "requires_grad, linspace": "PyTorch's out= keeps a history that backward refuses",
    "requires_grad, logspace": "PyTorch's out= keeps a history that backward refuses",
    "requires_grad, triangular_solve": "the second result is a copy of A, which does not depend on b",
    "requires_grad, normal": "random numbers do not depend on their parameters in a way that could be differentiated",
    "special.bessel_": "PyTorch's j0, j1, y0 and y1 are off by up to 1e-7; these are exact to rounding",
    "special.airy_ai": "PyTorch's is off far from 0",
    "ndtr": "PyTorch's loses digits, and then everything, far below 0",
    "_polynomial_": "polynomials by recurrence where PyTorch takes cosines, or the other way round: roots are exact in one of them only",
    "logsumexp complex": "imaginary parts are angles, which PyTorch takes from another turn",
    "logcumsumexp complex": "imaginary parts are angles, which PyTorch takes from another turn",
    "result value, fft.ihfft": "PyTorch's out= gives another result than the function without it",
    "result value, gcd": "of the smallest integer, whose magnitude is none",
    "result value, nn.functional.interpolate": "bytes are interpolated in whole numbers by PyTorch, and rounded once here",
    "result value, nn.functional.upsample": "bytes are interpolated in whole numbers by PyTorch, and rounded once here",
    "result shape, nn.functional.conv": "PyTorch gives no output channels where there are no input channels",
    "result nan, addcdiv complex": "products of infinities with zeros",
    "result nan, nn.SoftMarginLoss": "the logarithm of a number that is no float any more is computed without making it",
    "result nan, unique": "which of several NaN is shown",
    "result count, unbind_copy": "PyTorch returns nothing with out=",
    "result count, split_with_sizes_copy": "PyTorch returns nothing with out=",
    "result nan, nn.GroupNorm": "deviations whose squares overflow",
    "result nan, nn.InstanceNorm": "deviations whose squares overflow",
    "result nan, nn.Transformer": "deviations whose squares overflow",
    "result nan, nn.LayerNorm": "deviations whose squares overflow",
    "gradient nan, nn.TransformerDecoderLayer": "deviations whose squares overflow",
    "gradient nan, nn.TransformerEncoderLayer": "deviations whose squares overflow",
    "gradient nan, nn.GroupNorm": "the deviation of no numbers",
    "result nan, nn.GELU": "PyTorch's vectors give NaN at infinity",
    "gradient value, nn.functional.hardtanh": "PyTorch gives two answers for NaN, by the number of elements",
    "gradient value, nn.functional.relu6": "PyTorch gives two answers for NaN, by the number of elements",
    "gradient value, nn.functional.layer_norm": "differences of equal numbers, where a row is one element",
    "gradient value, nn.functional.scaled_dot_product_attention float32": "differences of nearly equal numbers, where weights are 0 and 1",
    "refused, signal.windows.": "a length is a whole number, also of a window of no or one value",
    "result nan, linalg.solve_ex": "a matrix that has no inverse",
    "gradient nan, linalg.solve_ex": "a matrix that has no inverse",
    "gradient nan, linalg.slogdet": "a matrix that has no inverse",
    "refused, take_along_dim": "PyTorch does not look at positions where indices are expanded, and takes other elements",
    "gradient value, nn.functional.softshrink": "PyTorch gives two answers for NaN, by the number of elements",
    "result nan, nn.functional.soft_margin_loss": "the logarithm of a number that is no float any more is computed without making it",
    "result nan, std_mean": "the mean of an infinity",
    "result nan, var_mean": "the mean of an infinity",
    "result nan, matrix_exp": "sums that overflow",
    "result nan, linalg.inv_ex": "a matrix that has no inverse",
    "result nan, fft.": "sums of infinities, and numbers whose sum is one",
    "result nan, nn.MultiMarginLoss": "differences of NaN, which PyTorch takes for no loss",
    "result nan, nn.functional.scaled_dot_product_attention": "a NaN behind a mask takes no part",
    "result shape, nn.functional.scaled_dot_product_attention": "of nothing, PyTorch does not broadcast",
    "result shape, addmv": "of nothing, PyTorch does not broadcast",
    "result value, signal.windows.": "windows are computed in double precision and rounded once",
    "result value, diagonal_scatter": "elements that share memory",
    "result value, select_scatter": "elements that share memory",
    "gradient value, nn.functional.scaled_dot_product_attention float64": "products in another order",
    "gradient value, nn.Softshrink": "PyTorch gives two answers for NaN, by the number of elements",
    "gradient value, block_diag": "after an empty block PyTorch takes the rows of another one",
    "result value, cholesky_inverse complex": "a factor with imaginary numbers on its diagonal, of which LAPACK reads the real part",
    "gradient nan, digamma float64": "at the poles PyTorch's trigamma is a large number",
    "gradient nan, nn.functional.hardswish": "PyTorch gives two answers for NaN, by the number of elements",
    "gradient value, nn.functional.hardsigmoid float64": "PyTorch's 1/6 is a number of four bytes",
    "gradient nan, polar": "the slope of a NaN by its angle",
    "gradient not None for zeros": "zeros where PyTorch says that nothing depends on the argument",
    "result nan, nn.functional.multi_margin_loss": "differences of infinities, which PyTorch takes for no loss",
    "result nan, normal": "infinity and a multiple of a normal number",
    "result nan, nn.functional.conv_transpose": "a weight that is NaN meets the zeros around the input",
    "gradient nan, nn.GELU": "the slope at infinity is its limit",
    "gradient value, tanh": "1 - tanh(x)^2 near 1",
    "result value, nn.functional.threshold": "a limit keeps its fraction for integers",
    "result value, nn.functional.fractional_max_pool": "which of several maxima",
    "gradient value, nn.Transformer": "norms of four numbers, one after another: each is as exact as PyTorch's",
    "gradient value, nn.functional.scaled_dot_product_attention bfloat16": "products of two-byte numbers are rounded in another order",
    "result value, matrix_exp float64": "scaling and squaring with another number of steps",
    "gradient value, nn.functional.ctc_loss float64": "sums of exponentials in another order",
    "nan, masked.cumprod": "a NaN behind a mask takes no part",
}


# ---- cases --------------------------------------------------------------------------------------------
@functools.cache
def operators() -> list[Any]:
    import torch
    from torch.testing._internal.common_methods_invocations import op_db

    torch.set_num_threads(1)
    return [op for op in op_db if not LEFT_OUT.match(op.name) and name_of(op) is not None]


@functools.cache
def elementwise() -> frozenset[str]:
    """The functions that look at one element of each argument at a time."""
    from torch.testing._internal.opinfo.core import BinaryUfuncInfo, UnaryUfuncInfo

    return frozenset(
        name_of(op) or "" for op in operators() if isinstance(op, (UnaryUfuncInfo, BinaryUfuncInfo))
    )


def name_of(op: Any) -> str | None:
    """The name that both libraries have the operator under."""
    import torch

    for name in (op.name, f"Tensor.{op.name}"):
        try:
            theirs, mine = arguments.resolve(torch, name), arguments.resolve(pellucid, name)
        except AttributeError:
            continue
        if callable(theirs) and callable(mine) and not isinstance(theirs, type):
            return name
    return None


def plain(value: Any) -> Any:
    """The description of a sample's argument of PyTorch."""
    import torch

    if isinstance(value, torch.Tensor):
        if (
            value.layout is not torch.strided
            or value.device.type != "cpu"
            or value.is_quantized
            or value.numel() > BIG
        ):
            raise TypeError("a tensor of another kind")
        return arguments.array(as_array(value))
    if isinstance(value, torch.dtype):
        name = str(value).removeprefix("torch.")
        return {"dtype": name} if hasattr(pellucid, name) else arguments.described(object())
    if isinstance(value, (torch.memory_format, torch.layout)):
        return {"name": str(value).removeprefix("torch.")}
    if isinstance(value, torch.device):
        return str(value)
    if isinstance(value, (list, tuple)):
        return {"list" if isinstance(value, list) else "tuple": [plain(v) for v in value]}
    if isinstance(value, slice):
        return {"slice": [plain(v) for v in (value.start, value.stop, value.step)]}
    return arguments.described(value)


def as_array(t: Any) -> np.ndarray:
    import torch

    t = t.detach().resolve_conj().resolve_neg()
    if t.dtype is torch.bfloat16:
        return (
            t.view(torch.int16).numpy(force=True).view(arguments.DTYPES["bfloat16"])
            if t.is_contiguous()
            else as_array(t.contiguous())
        )
    return t.numpy(force=True)  # PyTorch has zeros without memory


@functools.cache
def seeding_is_cheap() -> None:
    """PyTorch's own `manual_seed` also tells devices that are not there, at 50 times the cost, and
    its samples call it all the time.
    """
    import torch

    seed = torch.default_generator.manual_seed
    torch.manual_seed = torch.random.manual_seed = lambda number: seed(int(number))


@functools.lru_cache(10_000)
def samples(index: int, dtype: str) -> list[dict[str, Any]]:
    """PyTorch's samples of an operator and a dtype, as cases."""
    import torch

    op = operators()[index]
    kind = getattr(torch, dtype)
    if kind not in op.supported_dtypes("cpu"):
        return []
    stored = DRAWN / f"{op.name}-{op.variant_test_name}-{dtype}.json"
    if stored.exists():
        return json.loads(stored.read_text())  # type: ignore[no-any-return]
    seeding_is_cheap()
    torch.manual_seed(0)
    random_module.seed(0)
    np.random.seed(0)
    found: list[dict[str, Any]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            every = list(itertools.islice(op.sample_inputs("cpu", kind, requires_grad=False), 200))
        except Exception:  # some need other hardware
            return []
        for sample in every[:: max(1, len(every) // SAMPLES)][:SAMPLES]:
            try:
                args = [plain(v) for v in (sample.input, *sample.args)]
                kwargs = {k: plain(v) for k, v in sample.kwargs.items()}
            except TypeError:
                continue
            found.append(
                {"call": name_of(op), "form": "function", "args": args, "kwargs": kwargs, "seed": 0}
            )
    DRAWN.mkdir(parents=True, exist_ok=True)
    beside = stored.with_suffix(f".{os.getpid()}")
    beside.write_text(json.dumps(found))
    beside.replace(stored)
    return found


_taken: dict[int, bool] = {}


def taken(sample: dict[str, Any]) -> bool:
    """Whether PyTorch accepts a sample. It does not where an operator's name means something else
    in its table.
    """
    import torch

    known = _taken.get(id(sample))  # the lists of samples are kept, so the numbers stay theirs
    if known is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            known = _taken[id(sample)] = not isinstance(
                Side(torch, sample, forward_only=True).result, Exception
            )
    return known


@functools.cache
def modules() -> list[Any]:
    from torch.testing._internal.common_modules import module_db

    return [m for m in module_db if hasattr(pellucid.nn, m.module_cls.__name__)]


@functools.cache
def module_samples(index: int) -> list[dict[str, Any]]:
    import torch

    m = modules()[index]
    seeding_is_cheap()
    torch.manual_seed(0)
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            every = m.module_inputs_func(
                m, device="cpu", dtype=torch.float32, requires_grad=False, training=True
            )
        except Exception:
            return []
        for sample in every[:SAMPLES]:
            if sample.forward_input is None:
                continue
            try:
                made, given = sample.constructor_input, sample.forward_input
                case = {
                    "call": f"nn.{m.module_cls.__name__}",
                    "form": "module",
                    "init": [plain(v) for v in made.args],
                    "init_kwargs": {
                        k: plain(v) for k, v in made.kwargs.items() if k not in ("device", "dtype")
                    },
                    "args": [plain(v) for v in given.args],
                    "kwargs": {k: plain(v) for k, v in given.kwargs.items()},
                    "seed": 0,
                }
            except TypeError:
                continue
            found.append(case)
    return found


def draw(random: Any) -> dict[str, Any]:
    case = None
    while case is None:
        if random.random() < 0.12:
            found = module_samples(random.randrange(len(modules())))
        else:
            dtype = random.choice(
                ["float32"] * 5
                + ["float64"] * 3
                + ["int64", "int64", "bool", "bfloat16", "float16", "complex64", "int32", "uint8"]
            )
            found = samples(random.randrange(len(operators())), dtype)
        sample = random.choice(found) if found else None
        if sample is not None and taken(sample):
            case = arguments.varied(random, sample)
    if random.random() < 0.35:
        arguments.vary_grad(random, case)
    if (
        case["form"] == "function"
        and case["args"]
        and isinstance(case["args"][0], dict)
        and "array" in case["args"][0]
    ):
        method = case["call"].rpartition(".")[2]
        forms = ["function"] * 4
        forms += ["method"] * is_method(case["call"]) + ["inplace"] * 2 * hasattr(
            pellucid.Tensor, method + "_"
        )
        forms += ["out"] * (not case["call"].startswith(("nn.", "Tensor.")))
        case["form"] = random.choice(forms)
    case["side"] = random.randrange(4) == 0
    case["pattern"] = random.choice([0xFF, 0xFF, 0x7F, 0x00])
    return case


def is_method(name: str) -> bool:
    """Whether tensors have a method that does what the function does: `Tensor.lstsq` is another one
    than `linalg.lstsq`.
    """
    import torch

    method = name.rpartition(".")[2]
    return (
        hasattr(pellucid.Tensor, method)
        and hasattr(torch.Tensor, method)
        and name != "linalg.lstsq"
    )


smaller = arguments.smaller


# ---- running ------------------------------------------------------------------------------------------
class Side:
    """One library's answer to a case."""

    def __init__(
        self,
        library: Any,
        case: dict[str, Any],
        wide: bool = False,
        moved: int = 0,
        forward_only: bool = False,
    ) -> None:
        self.library, self.case, self.wide, self.moved = library, case, wide, moved
        self.leaves: list[Any] = []
        self.given: list[Any] = []
        self.grads: list[Any] | Exception | None = None
        (library.default_generator if library is not pellucid else library).manual_seed(
            case["seed"]
        )
        try:
            self.result = self.called()
        except Exception as error:
            self.result = error
        self.outs = (
            []
            if isinstance(self.result, Exception)
            else arguments.tensors_in(self.result, library.Tensor)
        )
        if not forward_only and not isinstance(self.result, Exception):
            self.differentiate()

    def called(self) -> Any:
        case, library = self.case, self.library
        if case["form"] == "module":
            init = [arguments.built(a, self.tensor, library) for a in case["init"]]
            named = {
                k: arguments.built(v, self.tensor, library) for k, v in case["init_kwargs"].items()
            }
            module = arguments.resolve(library, case["call"])(*init, **named)
            if self.wide:
                module.double()
            self.leaves.extend(p for p in module.parameters())
            return arguments.invoke(library, case, self.tensor, module)
        return arguments.invoke(library, case, self.tensor)

    def tensor(self, a: dict[str, Any]) -> Any:
        x = arguments.lay(a)
        if self.wide and a["dtype"] in WIDER:
            x = x.astype(WIDER[a["dtype"]])
        if self.moved and x.dtype.kind in "fc":
            step = np.finfo(a["dtype"] if a["dtype"] != "bfloat16" else "float32").eps
            noise = np.random.default_rng(self.moved).uniform(-1, 1, x.shape)
            with np.errstate(all="ignore"):
                x = x * (1 + step * noise).astype(x.real.dtype)
        if self.library is pellucid:
            t = pellucid.from_numpy(x)
        elif x.dtype == arguments.DTYPES["bfloat16"]:
            t = self.library.from_numpy(
                x.view(np.int16) if x.ndim else np.array(x.reshape(1).view(np.int16)[0])
            ).view(self.library.bfloat16)
        else:
            t = self.library.from_numpy(x)
        if a.get("grad"):
            t.requires_grad_(True)
            self.leaves.append(t)
            if self.case["form"] == "inplace":
                t = t.clone()
        self.given.append(t)
        return t

    def differentiate(self) -> None:
        library = self.library
        wanted = [o for o in self.outs if o.requires_grad]
        if not wanted or not self.leaves:
            return
        try:
            heads = [
                library.from_numpy(arguments.weights(tuple(o.shape), np.dtype("float64"))).to(
                    o.dtype
                )
                for o in wanted
            ]
            self.grads = list(library.autograd.grad(wanted, self.leaves, heads, allow_unused=True))
        except Exception as error:
            self.grads = error


DIGITS = {
    "float32": 24,
    "complex64": 24,
    "float64": 53,
    "complex128": 53,
    "float16": 11,
    "bfloat16": 8,
}
WIDER = {
    "float32": "float64",
    "float16": "float64",
    "bfloat16": "float64",
    "complex64": "complex128",
}


def values_of(t: Any) -> np.ndarray:
    if isinstance(t, pellucid.Tensor):
        x = t.detach()._array
        x = x if isinstance(x, np.ndarray) else np.asarray(x)
    else:
        x = as_array(t)
    return x.astype(np.float32) if x.dtype == arguments.DTYPES["bfloat16"] else x


def type_of(t: Any) -> str:
    return str(t.dtype).rpartition(".")[2]


def ulps(a: np.ndarray, b: np.ndarray, dtype: str) -> np.ndarray:
    """The distance of two arrays in units of the last place of `dtype`."""
    digits = DIGITS[dtype]
    tiny = {
        "float32": -126,
        "complex64": -126,
        "float64": -1022,
        "complex128": -1022,
        "float16": -14,
        "bfloat16": -126,
    }[dtype]
    top = np.maximum(np.abs(a), np.abs(b)).astype(np.float64)
    unit = np.exp2(np.maximum(np.floor(np.log2(np.where(top > 0, top, 1))), tiny) - digits + 1)
    unit = np.where(top > 0, unit, np.exp2(float(tiny - digits + 1)))
    return np.abs(a.astype(np.complex128 if a.dtype.kind == "c" else np.float64) - b) / unit


def unequal(mine: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    same = mine == theirs
    return ~(same | ((mine != mine) & (theirs != theirs)))


class Comparison:
    """Both answers, and what is needed to say whether a difference of digits is one."""

    def __init__(self, case: dict[str, Any], mine: Side, theirs: Side) -> None:
        self.case, self.mine, self.theirs = case, mine, theirs
        self._truth: tuple[list[Side], list[Side]] | None = None

    def truths(self) -> tuple[list[Side], list[Side]]:
        """PyTorch's answers in double precision: for the arguments, and for arguments that are a
        last digit different.
        """
        if self._truth is None:
            root = self.theirs.library
            self._truth = (
                [Side(root, self.case, wide=True)],
                [Side(root, self.case, wide=True, moved=k) for k in (1, 2, 3)],
            )
        return self._truth

    def tensors(self, what: str, mine: Any, theirs: Any, get: Any) -> str | None:
        """The first difference of two lists of tensors."""
        name = self.case["call"]
        for k, (a, b) in enumerate(zip(mine, theirs, strict=True)):
            if (a is None) != (b is None):
                if what == "gradient":
                    there = b if a is None else a
                    zero = not values_of(there).any()
                    return f"gradient {'None' if a is None else 'not None'} for {'zeros' if zero else 'values'}, {name}: {k}"
                return f"{what} None, {name}: {k}"
            if a is None:
                continue
            if tuple(a.shape) != tuple(b.shape):
                return f"{what} shape, {name}: {tuple(a.shape)}, PyTorch {tuple(b.shape)}"
            if type_of(a) != type_of(b):
                return f"{what} dtype, {name}: {type_of(a)}, PyTorch {type_of(b)}"
            if getattr(b, "layout", None) is not None and "strided" not in str(b.layout):
                continue
            text = self.numbers(what, k, values_of(a), values_of(b), type_of(b), get)
            if text:
                return text
        return None

    def numbers(
        self, what: str, k: int, a: np.ndarray, b: np.ndarray, dtype: str, get: Any
    ) -> str | None:
        name = self.case["call"]
        wrong = unequal(a, b)
        if not wrong.any():
            return None
        if not a.ndim:  # positions need a dimension
            a, b, wrong = (np.reshape(v, (1,)) for v in (a, b, wrong))
        where = tuple(int(i[0]) for i in np.nonzero(wrong))
        shown = f"{k} at {where}: {a[where]!r}, PyTorch {b[where]!r}"
        if dtype not in ULPS:
            return f"{what} value, {name}: {shown}"
        finite = np.isfinite(a) & np.isfinite(b)
        far = np.where(
            finite,
            ulps(np.where(finite, a, 0), np.where(finite, b, 0), dtype),
            np.where(wrong, np.inf, 0),
        )
        bad = far > ULPS[dtype]
        if not bad.any():
            return None
        exact, moved = self.truths()
        truth = self.got(exact[0], get, k, b.shape)
        if truth is not None:
            with np.errstate(all="ignore"):
                near = [m for m in (self.got(s, get, k, b.shape) for s in moved) if m is not None]
                swing = (
                    np.max([np.abs(m - truth) for m in near], axis=0) if near else np.zeros(b.shape)
                )
                theirs_off, mine_off = np.abs(b - truth), np.abs(a - truth)
                reach = 16 * (swing + theirs_off) + ULPS[dtype] * np.spacing(
                    np.abs(truth).astype("f4" if dtype != "float64" else "f8")
                ).astype("f8")
                top = 4 * np.max(theirs_off[np.isfinite(theirs_off)], initial=0)
                if name not in elementwise():  # sums of all of it: what counts is the largest
                    size = np.abs(truth)
                    top = max(
                        top, 8 * np.max(size[np.isfinite(size)], initial=0) * 2.0 ** -DIGITS[dtype]
                    )
                # differences of numbers of size one
                if what == "gradient" and name not in elementwise():
                    top = max(top, 64 * 2.0 ** -DIGITS[dtype])
                fine = (mine_off <= reach) | (mine_off <= top)
                # Where even a last digit more or less makes inf or nan of the result, or the other
                # way round, both are right.
                edge = np.zeros(b.shape, bool)
                for m in (*near, truth):
                    edge |= ~np.isfinite(m) & np.isfinite(truth) | ~np.isfinite(
                        truth.astype("f4" if dtype in ("float32", "complex64") else "f8").astype(
                            truth.dtype
                        )
                    ) & (np.isfinite(a) != np.isfinite(b)) & np.isfinite(truth)
                # sums of which a part is infinite, in one order or the other
                if name not in elementwise():
                    most = float(np.finfo(dtype if dtype != "bfloat16" else "float32").max)
                    edge |= (np.isfinite(a) != np.isfinite(b)) & (np.abs(truth) > most / 64)
                bad &= ~(fine | edge)
        if not bad.any():
            return None
        where = tuple(int(i[0]) for i in np.nonzero(bad))
        kind = "nan" if not (np.isfinite(a[where]) and np.isfinite(b[where])) else "value"
        more = f", double {truth[where]!r}" if truth is not None else ""
        return f"{what} {kind}, {name} {dtype}: {k} at {where} of {b.shape}: {a[where]!r}, PyTorch {b[where]!r}{more}, {float(far[where]):.3g} ulp, {int(bad.sum())} of {bad.size}"

    def got(self, side: Side, get: Any, k: int, shape: tuple[int, ...]) -> np.ndarray | None:
        try:
            found = get(side)[k]
            x = values_of(found).astype(
                np.complex128 if values_of(found).dtype.kind == "c" else np.float64
            )
            return x.reshape(shape) if x.size == math.prod(shape) else None
        except Exception:
            return None


def limited() -> None:
    """This process may not take all the memory when a case asks for it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if soft == resource.RLIM_INFINITY:
        with open("/proc/self/statm") as file:
            now = int(file.read().split()[0]) * 4096
        resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, hard))


def run(case: dict[str, Any]) -> str | None:
    import torch

    limited()
    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        guard.damaged()
        with guard.memory(
            guard.FRONT if case.get("side") else guard.END, case.get("pattern", 0xFF)
        ):
            mine = Side(pellucid, case)
        if guard.damaged():
            return f"damage, {case['call']}: something was written beside an array; {arguments.text(case)}"
        if UNSAFE_THERE.search(case["call"]) or endless_there(case):
            return None
        with harness.reference():  # comparing means to compute in double precision
            theirs = Side(torch, case)
            text = compared(case, mine, theirs)
    del mine
    if guard.damaged():
        return (
            f"damage, {case['call']}: something was written beside an array; {arguments.text(case)}"
        )
    return None if text is None else f"{text}   {arguments.text(case)}"


def out_of_memory(error: Any) -> bool:
    return (
        isinstance(error, MemoryError)
        or isinstance(error, Exception)
        and ("alloc" in str(error) or "memory" in str(error).lower())
    )


def nothing(case: dict[str, Any]) -> bool:
    """Whether an argument has no elements."""
    return any(0 in a["shape"] for a in arguments.arrays(case))


def tied(case: dict[str, Any]) -> bool:
    """Whether the first argument has an element twice, so that the gradient may go to either."""
    found = arguments.arrays(case)
    if not found:
        return False
    shown = arguments.lay(found[0]).reshape(-1)
    return (
        len(np.unique(shown.astype(np.float64) if shown.dtype.kind == "V" else shown)) < shown.size
    )


def endless_there(case: dict[str, Any]) -> bool:
    """Polynomials of a degree that PyTorch counts up to."""
    return "_polynomial_" in case["call"] and any(
        (np.abs(arguments.values(a).astype(np.float64)) > 1e6).any()
        for a in arguments.arrays(case)[1:]
    )


def compared(case: dict[str, Any], mine: Side, theirs: Side) -> str | None:
    name, form = case["call"], case["form"]
    a, b = mine.result, theirs.result
    if isinstance(a, Exception) or isinstance(b, Exception):
        if out_of_memory(a) or out_of_memory(b):
            return None
        # where PyTorch refuses it, too, it may look at something else first
        if form == "out" and "functions with out=" in str(a):
            return f"refused out= of what requires grad, {name}: {str(a).splitlines()[:1]}"
        if not isinstance(b, Exception):
            if nothing(case) and (
                "not implemented" in str(a)
                or "handle types other than" in str(a)
                or "should be the same" in str(a)
            ):
                return f"refused of nothing, {name}: {a}"
            if isinstance(a, NotImplementedError):
                return f"not supported, {name}: {a}"
            return f"refused, {name}: {type(a).__name__} {str(a).splitlines()[:1]}"
        if not isinstance(a, Exception):
            if "not implemented for" in str(b) or "not implemented for" in str(a):
                return f"accepted where PyTorch has no kernel, {name}: {str(b).splitlines()[:1]}"
            if "MKL FFT" in str(b):
                return (
                    f"accepted where PyTorch's FFT library fails, {name}: {str(b).splitlines()[:1]}"
                )
            if "INTERNAL ASSERT" in str(b):
                return f"accepted where PyTorch fails inside, {name}: {str(b).splitlines()[:1]}"
            if any(
                part in str(b)
                for part in (
                    "is not differentiable with respect",
                    "support automatic differentiation",
                    "derivative for",
                )
            ):
                return (
                    f"accepted without a derivative in PyTorch, {name}: {str(b).splitlines()[:1]}"
                )
            if "view size is not compatible" in str(b):
                return f"accepted where PyTorch wants a view, {name}: {str(b).splitlines()[:1]}"
            if isinstance(b, TypeError) and "must be" in str(b):
                return f"accepted of another type, {name}: {str(b).splitlines()[:1]}"
            if "mixed dtype" in str(b) or "expected scalar type" in str(b):
                return f"accepted with mixed types, {name}: {str(b).splitlines()[:1]}"
            if form == "out" and isinstance(b, TypeError):
                return (
                    f"accepted out= that PyTorch does not have, {name}: {str(b).splitlines()[:1]}"
                )
            return f"accepted, {name}: PyTorch {type(b).__name__} {str(b).splitlines()[:1]}"
        if type(a).__name__ != type(b).__name__:
            return f"other error, {name}: {type(a).__name__} {a}; PyTorch {type(b).__name__} {str(b).splitlines()[:1]}"
        return None
    both = Comparison(case, mine, theirs)
    if len(mine.outs) != len(theirs.outs):
        return f"result count, {name}: {len(mine.outs)}, PyTorch {len(theirs.outs)}"
    short = name.rpartition(".")[2]
    if not GAUGE.search(name):
        if (
            not mine.outs
            and a is not None
            and isinstance(b, (bool, int, float))
            and a != b
            and a == a
        ):
            return f"result plain, {name}: {a!r}, PyTorch {b!r}"
        if form == "inplace" and any(
            a.get("overlap") or 0 in a.get("steps", ()) for a in arguments.arrays(case)[:1]
        ):
            return f"written in place over itself, {name}:"
        text = both.tensors("result", mine.outs, theirs.outs, lambda side: side.outs)
        if text is not None and not (short in TIES and "value" in text):
            return text
    if form != "module" and len(mine.given) == len(theirs.given):
        text = both.tensors("argument", mine.given, theirs.given, lambda side: side.given)
        if text is not None:
            return text
    for k, (x, y) in enumerate(zip(mine.outs, theirs.outs, strict=True)):
        if x.requires_grad != y.requires_grad:
            title = (
                "requires_grad of a comparison in place"
                if form == "inplace" and short in COMPARISONS
                else "requires_grad"
            )
            return f"{title}, {name}: {k} is {x.requires_grad}"
    if GAUGE.search(name) or short in TIES and not theirs.outs[0].dtype.is_floating_point:
        return None
    if isinstance(mine.grads, Exception) or isinstance(theirs.grads, Exception):
        if not isinstance(theirs.grads, Exception):
            return f"gradient refused, {name}: {type(mine.grads).__name__} {str(mine.grads).splitlines()[:1]}"
        if not isinstance(mine.grads, Exception):
            return f"gradient accepted, {name}: PyTorch {type(theirs.grads).__name__} {str(theirs.grads).splitlines()[:1]}"
        return None
    if mine.grads is None or theirs.grads is None:
        return None
    text = both.tensors("gradient", mine.grads, theirs.grads, lambda side: side.grads)
    if text is not None and form == "inplace" and short in COMPARISONS:
        return f"gradient of a comparison in place, {name}: {text}"
    if text is not None and short in TIES and tied(case):
        return f"gradient of one of several equal elements, {name}: {text}"
    return text
