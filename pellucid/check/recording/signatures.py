"""Map calls to one name per operation, however it was spelled, and arguments to parameter names."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

from ...core.public import FUNCTIONS, METHODS

_OPERATORS = {
    "__add__": "add",
    "__radd__": "add",
    "__sub__": "sub",
    "__rsub__": "sub",
    "__mul__": "mul",
    "__rmul__": "mul",
    "__truediv__": "div",
    "__rtruediv__": "div",
    "__div__": "div",
    "__rdiv__": "div",
    "__floordiv__": "floor_divide",
    "__rfloordiv__": "floor_divide",
    "__mod__": "remainder",
    "__rmod__": "remainder",
    "__pow__": "pow",
    "__rpow__": "pow",
    "__matmul__": "matmul",
    "__rmatmul__": "matmul",
    "__neg__": "neg",
    "__pos__": "positive",
    "__abs__": "abs",
    "__invert__": "bitwise_not",
    "__eq__": "eq",
    "__ne__": "ne",
    "__lt__": "lt",
    "__le__": "le",
    "__gt__": "gt",
    "__ge__": "ge",
    "__and__": "bitwise_and",
    "__rand__": "bitwise_and",
    "__or__": "bitwise_or",
    "__ror__": "bitwise_or",
    "__xor__": "bitwise_xor",
    "__rxor__": "bitwise_xor",
    "__lshift__": "bitwise_left_shift",
    "__rshift__": "bitwise_right_shift",
    "__getitem__": "getitem",
    "__setitem__": "setitem",
    "__iter__": "unbind",
    "__contains__": "contains",
    "rsub": "sub",
}
_INPLACE_OPERATORS = {
    f"__i{name[2:]}": target
    for name, target in _OPERATORS.items()
    if not name.startswith("__r") and name[2:5] != "get"
}
_REFLECTED = frozenset(name for name in _OPERATORS if name.startswith("__r")) | {"rsub"}
_ALIASES = {
    "multiply": "mul",
    "divide": "div",
    "true_divide": "div",
    "subtract": "sub",
    "negative": "neg",
    "absolute": "abs",
    "concat": "cat",
    "concatenate": "cat",
    "clip": "clamp",
    "swapdims": "transpose",
    "swapaxes": "transpose",
    "moveaxis": "movedim",
    "special_expit": "sigmoid",
    "expit": "sigmoid",
    "special_softmax": "softmax",
    "special_log_softmax": "log_softmax",
    "special_logit": "logit",
    "greater": "gt",
    "greater_equal": "ge",
    "less": "lt",
    "less_equal": "le",
    "not_equal": "ne",
    "arctan": "atan",
    "fix": "trunc",
    "row_stack": "vstack",
    "special_exp2": "exp2",
    "special_log1p": "log1p",
    "special_expm1": "expm1",
    "special_logsumexp": "logsumexp",
    "dropout_positional": "dropout",
    "special_xlogy": "xlogy",
    "linalg_matmul": "matmul",
    "feature_dropout": "dropout2d",
    "native_dropout": "dropout",
    "det": "linalg_det",
    "_threshold": "threshold",
}
READS = {
    "item": "item",
    "numpy": "numpy",
    "tolist": "tolist",
    "__float__": "float",
    "__int__": "int",
    "__bool__": "bool",
    "__index__": "index",
    "__array__": "array",
    "__format__": "format",
    "__repr__": "repr",
    "__str__": "repr",
    "__complex__": "item",
    "__dlpack__": "numpy",
}
"""What takes a value out of the graph, and how `Read.how` calls it."""

SILENT = frozenset(
    """size dim ndimension numel nelement stride element_size is_contiguous storage_offset data_ptr __len__ __hash__ __dir__
    __reduce_ex__ __deepcopy__ is_floating_point is_complex is_signed get_device storage untyped_storage has_names
    is_pinned is_shared share_memory_ register_hook retain_grad register_post_accumulate_grad_hook is_tensor is_storage is_nonzero
    type_as_name __array_priority__ _is_view is_set_to is_same_size is_inference _set_grad_enabled is_grad_enabled
    get_default_dtype set_default_dtype promote_types result_type can_cast is_distributed is_neg is_conj names nbytes itemsize
    broadcast_tensors_shapes broadcast_shapes _make_subclass as_subclass set_printoptions get_num_threads set_num_threads
    manual_seed initial_seed seed get_rng_state set_rng_state compile save load typename""".split()
)
"""Calls that make no tensor and tell nothing."""

PROPERTIES = frozenset({"T", "mT", "H", "mH", "real", "imag", "data"})
"""Properties that are operations."""

RANDOM = frozenset(
    """rand randn randint randperm rand_like randn_like randint_like bernoulli multinomial normal poisson uniform random exponential
    cauchy geometric log_normal dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout rrelu""".split()
)
"""Operations that draw random numbers (dropout while training)."""


@cache
def canonical(spelling: str) -> tuple[str, bool, bool]:
    """(PyTorch's name of the operation, in place, operands reflected) for a function's or method's
    own name.
    """
    if spelling in _INPLACE_OPERATORS:
        return _INPLACE_OPERATORS[spelling], True, False
    if spelling == "__setitem__":
        return "setitem", True, False
    name = _OPERATORS.get(spelling)
    if name is not None:
        return name, False, spelling in _REFLECTED
    inplace = False
    if spelling.endswith("_") and not spelling.endswith("__"):
        spelling, inplace = spelling[:-1], True
    return _ALIASES.get(spelling, spelling), inplace, False


class Binder:
    """Puts the arguments of calls under the names of PyTorch's parameters; signatures come from
    Pellucid's own functions.
    """

    def __init__(self) -> None:
        self._plans: dict[tuple[str, bool, str], Any] = {}

    def bind(
        self,
        func: Any,
        name: str,
        spelling: str,
        method: bool,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> dict[str, Any]:
        """Arguments by name, with the defaults of those that were not given."""
        space = (
            "nn.functional"
            if getattr(func, "__module__", "") in ("torch.nn.functional", "torch._C._nn")
            else ""
        )
        key = (spelling, method, space)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = _plan(func, name, spelling, method, space)
        names, rest, defaults = plan
        bound = dict(zip(names, args))
        extra = args[len(names) :]
        if extra or (rest is not None and rest not in kwargs and len(args) > len(names)):
            if rest is None:
                bound["rest"] = extra
            else:
                first = extra[0]
                bound[rest] = (
                    tuple(first)
                    if len(extra) == 1 and isinstance(first, (tuple, list))
                    else tuple(extra)
                )
        for k, v in kwargs.items():
            bound[_KEYWORDS.get(k, k)] = v
        for k, v in defaults.items():
            bound.setdefault(k, v)
        return bound


_KEYWORDS = {
    "axis": "dim",
    "self": "input",
    "keepdims": "keepdim",
    "x": "input",
    "train": "training",
}
_BY_HAND = {
    "getitem": ("input", "index"),
    "setitem": ("input", "index", "value"),
    "where": ("condition", "input", "other"),
    "copy": ("input", "src", "non_blocking"),
    "to": ("input",),
    "relu": ("input",),
    "sigmoid": ("input",),
    "tanh": ("input",),
    "pow": ("input", "exponent"),
    "positive": ("input",),
    "contains": ("input", "element"),
}
_BINARY = frozenset(_OPERATORS.values()) - {
    "neg",
    "abs",
    "bitwise_not",
    "getitem",
    "setitem",
    "unbind",
    "pow",
    "positive",
    "contains",
}


def _plan(
    func: Any, name: str, spelling: str, method: bool, space: str
) -> tuple[tuple[str, ...], str | None, dict[str, Any]]:
    """(names of positional parameters, name of the one that takes the rest, defaults)."""
    if name in _BY_HAND:
        return _BY_HAND[name], None, {}
    if name in _BINARY:
        return ("input", "other"), None, {}
    signature = _signature(func, name, spelling, method, space)
    if signature is None:
        return ("input",), None, {}
    names, rest, defaults = [], None, {}
    for k, p in enumerate(signature.parameters.values()):
        title = _KEYWORDS.get(p.name, p.name) if k == 0 else p.name
        title = "training" if title == "train" else title
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
            names.append(title)
        elif p.kind is p.VAR_POSITIONAL:
            rest = title
        if p.default is not p.empty and isinstance(
            p.default, (int, float, bool, str, tuple, type(None))
        ):
            defaults[title] = p.default
    return tuple(names), rest, defaults


def _signature(
    func: Any, name: str, spelling: str, method: bool, space: str
) -> inspect.Signature | None:
    candidates: list[Callable[..., Any] | None] = []
    if method:
        # Of an in-place form, whose own signature says (*args), the out-of-place one's.
        candidates += [METHODS.get(name), METHODS.get(spelling), FUNCTIONS["torch"].get(name)]
    elif space:
        # one that is no operation (attention as a whole) has its own
        candidates += [FUNCTIONS[space].get(name), func]
    else:
        wrapped = getattr(func, "__wrapped__", None)
        candidates += [wrapped, FUNCTIONS["torch"].get(name), FUNCTIONS["nn.functional"].get(name)]
        for prefix in ("linalg", "special", "fft"):
            if name.startswith(prefix + "_"):
                candidates.append(FUNCTIONS.get(prefix, {}).get(name.removeprefix(prefix + "_")))
    for candidate in candidates:
        if candidate is not None:
            try:
                return inspect.signature(candidate)
            except (TypeError, ValueError):
                continue
    return None
