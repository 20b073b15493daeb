"""The error function, the gamma function and related functions.

Formulas: NIST Digital Library of Mathematical Functions (dlmf.nist.gov), chapters 5, 7, 8 and 25.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .... import dtypes
from ....core.inplace import inplace_form
from ....core.primitive import RAW, defop
from ....core.primitive import TENSORS as F
from ....core.public import FUNCTIONS, METHODS, public
from ....core.tape import titled
from ....core.tensor import Tensor
from ....core.transforms.unfolding import Unfolding
from ....core.transforms.whole import one_node
from ....errors import ArgumentTypeError, OperationError, UnsupportedError
from ....ir.formula import Formula
from ..._rules import require_tensor
from ..._samples import POSITIVE, UNIT, elementwise
from ...reduce.softmax import log_softmax, softmax
from .._unary import binary, real, unary

_TWO_BY_ROOT_PI = 2 / math.sqrt(math.pi)

# ---- the error function -----------------------------------------------------------------------
erf = unary(
    "erf",
    "erf",
    lambda F, g, input: g * (F.exp(-input * input) * _TWO_BY_ROOT_PI),
    namespace="torch special",
    traits="saturates",
    onnx="Erf",
    check=real,
    doc="The error function, 2/sqrt(pi) times the integral of exp(-t^2) from 0 to the element.",
    example="torch.erf(torch.tensor([0.0, 1.0]))",
    shows="tensor([0.0000, 0.8427])",
)

erfc = unary(
    "erfc",
    "erfc",
    lambda F, g, input: g * (F.exp(-input * input) * -_TWO_BY_ROOT_PI),
    namespace="torch special",
    traits="saturates",
    onnx=lambda c: c.emit("Sub", c.number(1), c.emit("Erf", c[0])),
    check=real,
    doc="`1 - erf(input)`, exact to rounding for large elements too.",
    example="torch.erfc(torch.tensor([0.0, 1.0]))",
    shows="tensor([1.0000, 0.1573])",
)

erfinv = unary(
    "erfinv",
    "erfinv",
    lambda F, g, out: g * (F.exp(out * out) / _TWO_BY_ROOT_PI),
    namespace="torch special",
    domain=UNIT,
    packs=(lambda input: [input], lambda kept: {"out": RAW.erfinv(kept[0])}),
    check=real,
    doc="The inverse of the error function; NaN outside [-1, 1].",
    example="torch.erfinv(torch.tensor([0.0, 0.5]))",
    shows="tensor([0.0000, 0.4769])",
)

erfcx = unary(
    "erfcx",
    "erfcx",
    lambda g, input, out: g * (input * out * 2 - _TWO_BY_ROOT_PI),
    namespace="special",
    methods=None,
    grad_name="SpecialErfcx",
    check=real,
    halves=False,
    doc="The scaled complementary error function `exp(input ** 2) * erfc(input)`.",
    example="torch.special.erfcx(torch.tensor([0.0, 10.0]))",
    shows="tensor([1.0000, 0.0561])",
)


def _by_erf(input: Any) -> Any:
    """Compute the normal distribution function by PyTorch's operations."""
    inner = titled(input * math.sqrt(0.5), "MulBackward1", of=(input,), other=math.sqrt(0.5))
    grown = F.erf(inner)
    more = titled(grown + 1, "AddBackward1", of=(grown,))
    return titled(more * 0.5, "MulBackward1", of=(more,), other=0.5)


ndtr = unary(
    "ndtr",
    "ndtr",
    lambda F, g, input: g * (F.exp(input * input * -0.5) * (1 / math.sqrt(2 * math.pi))),
    namespace="special",
    methods=None,
    traits="saturates",
    grad_name="MulBackward1",
    nodes=Unfolding(_by_erf),
    packs=(
        lambda input: [input * math.sqrt(0.5)],
        lambda kept: {"input": kept[0] / math.sqrt(0.5)},
    ),
    check=real,
    doc="The normal distribution function: the probability of a standard normal number below the element.",
    example="torch.special.ndtr(torch.tensor([0.0, 1.0]))",
    shows="tensor([0.5000, 0.8413])",
)

ndtri = unary(
    "ndtri",
    "ndtri",
    lambda F, g, out: g * (F.exp(out * out * 0.5) * math.sqrt(2 * math.pi)),
    namespace="special",
    methods=None,
    domain=(0.1, 0.9),
    grad_name="SpecialNdtri",
    halves=False,
    doc="The quantiles of the normal distribution, the inverse of `ndtr`.",
    example="torch.special.ndtri(torch.tensor([0.5, 0.8413]))",
    shows="tensor([0.0000, 0.9998])",
)

log_ndtr = unary(
    "log_ndtr",
    "log_ndtr",
    lambda F, g, input: g * (math.sqrt(2 / math.pi) / F.erfcx(input * -math.sqrt(0.5))),
    namespace="special",
    methods=None,
    grad_name="SpecialLogNdtr",
    packs="input out",
    check=real,
    halves=False,
    doc="The logarithm of `ndtr`, also where `ndtr` itself underflows.",
    example="torch.special.log_ndtr(torch.tensor([0.0, -10.0]))",
    shows="tensor([ -0.6931, -53.2313])",
)

# ---- the gamma function -----------------------------------------------------------------------
lgamma = unary(
    "lgamma",
    "lgamma",
    lambda F, g, input: g * F.digamma(input),
    domain=POSITIVE,
    doc="The logarithm of the absolute value of the gamma function.",
    example="torch.lgamma(torch.tensor([1.0, 5.0]))",
    shows="tensor([0.0000, 3.1781])",
)
FUNCTIONS["special"]["gammaln"] = FUNCTIONS["torch"]["lgamma"]

digamma = unary(
    "digamma",
    "digamma",
    lambda F, g, input: g * F.polygamma(input, n=1),
    namespace="torch special",
    domain=POSITIVE,
    doc="The derivative of `lgamma`.",
    example="torch.digamma(torch.tensor([1.0]))",
    shows="tensor([-0.5772])",
)
FUNCTIONS["special"]["psi"] = FUNCTIONS["special"]["digamma"]

polygamma_op = defop(
    "polygamma",
    "input",
    forward=lambda xp, x, *, n: xp.polygamma(x, n),
    vjp={"input": lambda F, g, input, n: g * F.polygamma(input, n=n + 1)},
    jvp="elementwise",
    promote="float",
    elementwise=True,
    samples=elementwise(POSITIVE, params=({"n": 0}, {"n": 1}, {"n": 3})),
)


@public(namespace="torch special", out=True)
def polygamma(n: int, input: Tensor) -> Tensor:
    """The n-th derivative of `digamma`.

    Raises:
        RuntimeError: n is negative.

    >>> import pellucid as torch
    >>> torch.polygamma(1, torch.tensor([1.0]))
    tensor([1.6449])
    """
    if n < 0:
        raise OperationError("polygamma(n, x) does not support negative n.")
    return polygamma_op.call(require_tensor(input, "polygamma", "input", 2), n=n)


def _polygamma_method(self: Tensor, n: int) -> Tensor:
    """Return the n-th derivative of `digamma`."""
    return polygamma(n, self)


METHODS["polygamma"], METHODS["polygamma_"] = (
    _polygamma_method,
    inplace_form(_polygamma_method, "polygamma_"),
)


_WRITTEN = "cast: mvlgamma: result type {wanted} can't be cast to the desired output type {wanted}"


@public(
    methods="=",
    inplace="=",
    out=_WRITTEN,
)
@one_node("Mvlgamma", "input", "input")
def mvlgamma(input: Tensor, p: int) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension `p`.

    Raises:
        RuntimeError: p is below 1.

    >>> import pellucid as torch
    >>> torch.mvlgamma(torch.tensor([3.0]), 2)
    tensor([1.5502])
    """
    if isinstance(p, bool):
        raise ArgumentTypeError("mvlgamma(): argument 'p' (position 2) must be int, not bool")
    if require_tensor(input, "mvlgamma").dtype is dtypes.bool_:
        raise OperationError("The input tensor may not be a boolean tensor.")
    if p < 1:
        raise OperationError("p has to be greater than or equal to 1")
    kind = input._array.dtype
    if kind.itemsize == 2 and input.dtype.is_floating_point:
        return titled(
            F.cast(mvlgamma(F.cast(input, dtype=np.dtype(np.float32)), p), dtype=kind),
            "Mvlgamma",
            of=(input,),
            p=p,
        )
    if p > 1000:  # PyTorch allocates all terms at once, which may fail
        np.empty((*input._array.shape, p), kind)
    total: Any = p * (p - 1) / 4 * math.log(math.pi)
    for j in range(p):
        total = F.add(F.lgamma(F.add(input, -j / 2)), total)  # -0.0 becomes 0.0
    return titled(total, "Mvlgamma", of=(input,), p=p)


public(
    namespace="special",
    names="multigammaln",
    out=_WRITTEN,
)(mvlgamma)


def _no_derivative(what: str) -> Any:
    def rule(g: Any) -> Any:
        raise UnsupportedError(f"the derivative for '{what}' is not implemented.")

    return rule


def _gamma_density(F: Any, g: Any, input: Any, other: Any) -> Any:
    return g * F.exp((input - 1) * F.log(other) - other - F.lgamma(input))


def _not_whole(kernel: str) -> Any:
    """Return a record's `check` that refuses arguments all of which are integers or bools."""

    def check(*arrays: Any) -> None:
        kinds = [np.dtype(a.dtype) if hasattr(a, "dtype") else np.dtype(type(a)) for a in arrays]
        if all(kind.kind in "iub" for kind in kinds):
            kind = dtypes.BY_NUMPY[np.result_type(*kinds)]
            raise UnsupportedError(f"\"{kernel}\" not implemented for '{kind.scalar_type_name}'")

    return check


igamma = binary(
    "igamma",
    "igamma",
    {"input": _no_derivative("igamma: input"), "other": _gamma_density},
    promote="float",
    check=_not_whole("igamma_cpu"),
    constant=(0,),
    domains=(POSITIVE, POSITIVE),
    doc="The regularized lower incomplete gamma function P(input, other).",
    example="torch.igamma(torch.tensor([2.0]), torch.tensor([1.0]))",
    shows="tensor([0.2642])",
)
FUNCTIONS["special"]["gammainc"] = FUNCTIONS["torch"]["igamma"]

igammac = binary(
    "igammac",
    "igammac",
    {
        "input": _no_derivative("igammac: input"),
        "other": lambda F, g, input, other: -_gamma_density(F, g, input, other),
    },
    promote="float",
    check=_not_whole("igammac_cpu"),
    constant=(0,),
    domains=(POSITIVE, POSITIVE),
    doc="The regularized upper incomplete gamma function Q(input, other) = 1 - P.",
    example="torch.igammac(torch.tensor([2.0]), torch.tensor([1.0]))",
    shows="tensor([0.7358])",
)
FUNCTIONS["special"]["gammaincc"] = FUNCTIONS["torch"]["igammac"]


def _float_or_double(*arrays: Any) -> None:
    """Refuse complex numbers, and two-byte floats unless another argument is float32 or float64."""
    kinds = {a.dtype.char if hasattr(a, "dtype") else type(a) for a in arrays}
    whole = {int, float, bool, *"?bhilqBHILQ"}
    if kinds & {"F", "D", complex} or not kinds & {"f", "d"} and not kinds <= whole:
        raise TypeError("ufunc not supported")


zeta = binary(
    "zeta",
    "zeta",
    {
        "input": _no_derivative("zeta: self"),
        "other": lambda F, g, input, other: -g * input * F.zeta(input + 1, other),
    },
    promote="float",
    check=_float_or_double,
    halves=False,
    constant=(0,),
    namespace="special",
    methods=None,
    numbers="input other",
    domains=((1.5, 4.0), POSITIVE),
    doc="The Hurwitz zeta function, the sum of `(k + other) ** -input` over k = 0, 1, ...",
    example="torch.special.zeta(torch.tensor([2.0]), 1)",
    shows="tensor([1.6449])",
)


# ---- entropies --------------------------------------------------------------------------------
def _entr(m: Any, x: Any) -> Any:
    positive = x > 0
    value = m.where(positive, -x * m.log(m.where(positive, x, 1)), 0)
    return m.where(x < 0, -math.inf, m.where(m.isnan(x), x, value))


entr = unary(
    "entr",
    Formula(_entr),
    lambda F, g, input: g * (-1 - F.log(input)),
    namespace="special",
    methods=None,
    domain=POSITIVE,
    grad_name="SpecialEntr",
    check=real,
    doc="`-input * log(input)`, 0 at 0 and -inf below.",
    example="torch.special.entr(torch.tensor([-1.0, 0.0, 0.5]))",
    shows="tensor([  -inf, 0.0000, 0.3466])",
)


def _onnx_xlogy(c: Any, y: str) -> Any:
    zero = c.emit("And", c.emit("Equal", c[0], c.number(0)), c.emit("Not", c.emit("IsNaN", y)))
    return c.emit("Where", zero, c.number(0), c.emit("Mul", c[0], c.emit("Log", y)))


def _xlogy_face(node: Any) -> Any:
    """Return PyTorch's name for the three overloads: tensors, a number before a tensor, a number
    after it.
    """
    first, second = [need is not None for need in node.plan.needs]
    return f"XlogyBackward{0 if first and second else 2 if first else 1}", tuple(
        [k for k, is_tensor in enumerate((first, second)) if is_tensor]
    )


xlogy = binary(
    "xlogy",
    "xlogy",
    {
        "input": lambda F, g, input, other: F.where(
            (input == 0) & (other <= 0), 0, F.xlogy(g, other)
        ),
        "other": lambda g, input, other: g * (input / other),
    },
    promote="float",
    namespace="torch special",
    numbers="input other",
    domains=(POSITIVE, POSITIVE),
    check=real,
    onnx=lambda c: _onnx_xlogy(c, c[1]),
    variant=_xlogy_face,
    advice="keep the argument above zero, `x.clamp_min(1e-8).log()`, or compute the logarithm from the scores (F.logsigmoid, F.log_softmax)",
    doc="`input * log(other)`, 0 where `input` is 0.",
    example="torch.xlogy(torch.tensor([0.0, 2.0]), torch.tensor([0.0, 2.0]))",
    shows="tensor([0.0000, 1.3863])",
)

xlog1py = binary(
    "xlog1py",
    "xlog1py",
    {
        "input": lambda F, g, input, other: F.where(
            (input == 0) & (other <= -1), 0, F.xlog1py(g, other)
        ),
        "other": lambda g, input, other: g * (input / (other + 1)),
    },
    promote="float",
    namespace="special",
    methods=None,
    numbers="input other",
    domains=(POSITIVE, POSITIVE),
    check=real,
    onnx=lambda c: _onnx_xlogy(c, c.emit("Add", c[1], c.number(1))),
    grad_name="SpecialXlog1Py",
    doc="`input * log1p(other)`, 0 where `input` is 0.",
    example="torch.special.xlog1py(torch.tensor([0.0, 2.0]), torch.tensor([-1.0, 1.0]))",
    shows="tensor([0.0000, 1.3863])",
)


# ---- functions of other families under their names here ---------------------------------------
@public(namespace="special", names="softmax")
def _softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """As `torch.softmax`.

    >>> import pellucid as torch
    >>> torch.special.softmax(torch.tensor([0.0, 0.0]), 0)
    tensor([0.5000, 0.5000])
    """
    return softmax(input, dim, dtype=dtype)


@public(namespace="special", names="log_softmax")
def _log_softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """As `torch.log_softmax`.

    >>> import pellucid as torch
    >>> torch.special.log_softmax(torch.tensor([0.0, 0.0]), 0)
    tensor([-0.6931, -0.6931])
    """
    return log_softmax(input, dim, dtype=dtype)


FUNCTIONS["special"]["logsumexp"] = FUNCTIONS["torch"]["logsumexp"]
