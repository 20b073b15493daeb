"""`torch.jit.trace`: a module that was recorded on example inputs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from ..core.modes import no_grad
from ..core.tensor import Tensor
from ..errors import warn
from ..nn.modules.module import Module
from ..testing import assert_close
from ._script import FACES, GRAPHS, RecursiveScriptModule, ScriptFunction, ScriptModule, scripted
from ._traced import traced_graph
from ._warnings import LeavingTensors, TracerWarning, deprecated

T = TypeVar("T")


class TracingCheckError(Exception):
    """What two runs of a traced function differ in."""

    def __init__(
        self, graph_diff_error: Any, tensor_compare_error: Any, extra_msg: str | None = None
    ) -> None:
        parts = ["Tracing failed sanity checks!", extra_msg, graph_diff_error, tensor_compare_error]
        self.message = "\n".join(str(part) for part in parts if part is not None)
        super().__init__(self.message)


ONNXTracedModule = None
_tracing = 0


def is_tracing() -> bool:
    """Whether `torch.jit.trace` runs a function at this moment.

    >>> is_tracing()
    False
    """
    return _tracing > 0


class TracedModule(RecursiveScriptModule):
    """A module inside a traced one."""

    _face = "traced"

    def _get_name(self) -> str:
        return "TracedModule"


class TopLevelTracedModule(TracedModule):
    """What `torch.jit.trace(module, inputs)` gives."""

    _face = "trace"

    def _get_name(self) -> str:
        return self.original_name


GRAPHS["graph"] = traced_graph
FACES.update(trace=TopLevelTracedModule, traced=TracedModule)


class _Tracing:
    """Inside of the block `is_tracing()` is True."""

    def __enter__(self) -> None:
        global _tracing
        _tracing += 1

    def __exit__(self, *exc: object) -> None:
        global _tracing
        _tracing -= 1


def _arguments(example_inputs: Any) -> tuple[Any, ...]:
    """Example inputs as positional arguments."""
    if isinstance(example_inputs, (Tensor, dict)):
        return (example_inputs,)
    if not isinstance(example_inputs, tuple):
        return tuple(example_inputs)
    return example_inputs


def _check_result(value: Any) -> None:
    """PyTorch's error for a result that a trace cannot give."""
    parts = (
        value.values()
        if isinstance(value, dict)
        else value
        if isinstance(value, (tuple, list))
        else (value,)
    )
    for part in parts:
        if isinstance(part, (tuple, list, dict)):
            _check_result(part)
        elif not isinstance(part, Tensor):
            raise RuntimeError(
                "Type 'Tuple' cannot be traced. Only Tensors and (possibly nested) Lists, Dicts, and Tuples of Tensors can be traced"
                if isinstance(part, set)
                else "Only tensors, lists, tuples of tensors, or dictionary of tensors can be output from traced functions"
            )


def _compare(first: Any, second: Any, rtol: float, atol: float, count: list[int]) -> None:
    """Warn where two runs of a function differ, as PyTorch does."""
    if isinstance(first, dict):
        for key in first:
            _compare(first[key], second[key], rtol, atol, count)
    elif isinstance(first, (tuple, list)):
        for one, other in zip(first, second, strict=True):
            _compare(one, other, rtol, atol, count)
    elif isinstance(first, Tensor):
        count[0] += 1
        try:
            assert_close(first.double(), second.double(), rtol=rtol, atol=atol, equal_nan=True)
        except AssertionError as error:
            text = (
                f"Output nr {count[0]}. of the traced function does not match the corresponding output of the Python function. "
                f"Detailed error:\n{error}"
            )
            warn(text, TracerWarning)


def _see(
    run: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    check: bool,
    strict: bool,
    rtol: float,
    method: bool,
) -> None:
    """Run a function on the example inputs, and again to compare."""
    if method:
        deprecated("trace_method")
    with _Tracing(), LeavingTensors():
        first = run(*args, **kwargs)
    _check_result(first)
    if isinstance(first, dict) and strict:
        raise RuntimeError(
            "Encountering a dict at the output of the tracer might cause the trace to be incorrect, this is only valid if the container "
            "structure does not change based on the module's inputs. Consider using a constant container instead (e.g. for `list`, use a "
            "`tuple` instead. for `dict`, use a `NamedTuple` instead). If you absolutely need this and know the side effects, pass "
            "strict=False to trace() to allow this behavior."
        )
    if check:
        deprecated("trace_method" if method else "trace")
        with _Tracing(), LeavingTensors(), no_grad():
            second = run(*args, **kwargs)
        with no_grad():
            _compare(first, second, rtol, 1e-5, [0])


def trace(
    func: Any,
    example_inputs: Any = None,
    optimize: Any = None,
    check_trace: bool = True,
    check_inputs: Any = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    _force_outplace: bool = False,
    _module_class: Any = None,
    _compilation_unit: Any = None,
    example_kwarg_inputs: dict[str, Any] | None = None,
    _store_inputs: bool = True,
) -> Any:
    """Run a function or module on example inputs, twice to compare, and give its scripted form.

    A module gives a `ScriptModule` with the same parameters, buffers and names of both; it keeps
    the mode (training or not) of its parts. A call runs the function's Python and not a recording:
    a branch is taken anew for each input, where PyTorch's trace would repeat the one of the
    example. `graph` and `inlined_graph` are the operators of such a run on the example.

    Args:
        func: a function or a module.
        example_inputs: a tuple of arguments, or one tensor.
        check_trace: compare two runs, and warn (`TracerWarning`) where they differ.
        check_tolerance: how far they may differ.
        strict: refuse a dictionary as a result.
        example_kwarg_inputs: keyword arguments, in place of `example_inputs`.

    >>> import pellucid as torch
    >>> model = torch.jit.trace(torch.nn.Linear(2, 3), torch.ones(1, 2))
    >>> list(model.state_dict()), model(torch.ones(5, 2)).shape
    (['weight', 'bias'], torch.Size([5, 3]))
    """
    deprecated("trace")
    if isinstance(func, (ScriptFunction, ScriptModule)):
        warn(
            "The input to trace is already a ScriptModule, tracing it is a no-op. Returning the object as is.",
        )
        return func
    if example_kwarg_inputs is not None and not isinstance(example_kwarg_inputs, dict):
        raise RuntimeError("example_kwarg_inputs should be a dict")
    if example_inputs is None and example_kwarg_inputs is None:
        raise RuntimeError("example_kwarg_inputs should be a dict")
    args = () if example_inputs is None else _arguments(example_inputs)
    kwargs = example_kwarg_inputs or {}
    if isinstance(func, Module):
        made = scripted(func, "trace")
        _see(made, args, kwargs, check_trace, strict, check_tolerance, True)
        vars(made)["_example"] = args, kwargs
        return made
    owner = getattr(func, "__self__", None)
    if isinstance(owner, Module) and func.__name__ == "forward":
        return trace(
            owner, example_inputs, optimize, check_trace, check_inputs, check_tolerance, strict
        )
    _see(func, args, kwargs, check_trace, strict, check_tolerance, False)
    traced = ScriptFunction(func)
    vars(traced)["_example"] = args, kwargs
    return traced


def trace_module(
    mod: Any,
    inputs: dict[str, Any],
    *args: Any,
    check_trace: bool = True,
    strict: bool = True,
    **kwargs: Any,
) -> Any:
    """Trace several methods of a module, each with its own example inputs; see `trace`.

    Args:
        mod: the module.
        inputs: example inputs by the name of the method, such as {"forward": x, "encode": (x, y)}.
        check_trace, strict: as for `trace`.

    Raises:
        AttributeError: `mod` is not a module, or `inputs` is not a dictionary.

    >>> import pellucid as torch
    >>> class Pair(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x + 1
    ...     def inverse(self, y):
    ...         return y - 1
    >>> traced = torch.jit.trace_module(Pair(), {"forward": torch.ones(1), "inverse": torch.ones(1)})
    >>> traced.inverse(traced(torch.tensor([5.0])))
    tensor([5.])
    """
    if not isinstance(mod, Module):
        raise AttributeError("expected torch.nn.Module as the first argument")
    if not isinstance(inputs, dict):
        raise AttributeError("expected a dictionary of (method_name, input) pairs")
    made = scripted(mod, "trace")
    for name, example in inputs.items():
        _see(
            made if name == "forward" else getattr(made, name),
            _arguments(example),
            {},
            check_trace,
            strict,
            1e-5,
            True,
        )
    return made


def script_if_tracing(fn: Callable[..., T]) -> Callable[..., T]:
    """Script a function when it is called inside `torch.jit.trace`. Its results are the same either way.

    >>> import pellucid as torch
    >>> @torch.jit.script_if_tracing
    ... def halve_until_below_one(x):
    ...     while x.item() >= 1:
    ...         x = x / 2
    ...     return x
    >>> halve_until_below_one(torch.tensor(5.0))
    tensor(0.6250)
    """

    @functools.wraps(fn)
    def wrapper(*args: Any, **kwargs: Any) -> T:
        return fn(*args, **kwargs)

    wrapper.__original_fn = fn  # type: ignore[attr-defined]
    wrapper.__script_if_tracing_wrapper = True  # type: ignore[attr-defined]
    return wrapper


_script_if_tracing = script_if_tracing
