"""`torch.onnx.export` with PyTorch's arguments, and what it returns."""

from __future__ import annotations

import enum
import io
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pellucid._pytree import tree_flatten
from pellucid.core.tensor import Tensor
from pellucid.errors import ArgumentValueError, UnsupportedError
from pellucid.export import ExportedProgram
from pellucid.export.dynamic_shapes import dynamic_sizes, names
from pellucid.testing import assert_close

from . import writer
from .module import load


class TrainingMode(enum.Enum):
    """The mode in which a model is exported. Only EVAL is supported.

    >>> import io
    >>> import pellucid as torch
    >>> model = torch.nn.Linear(2, 1)
    >>> _ = torch.onnx.export(
    ...     model, (torch.ones(1, 2),), io.BytesIO(), training=torch.onnx.TrainingMode.EVAL, dynamo=False
    ... )
    """

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


class ONNXProgram:
    """An exported model: its file's bytes, which can be saved and called.

    >>> import pellucid as torch
    >>> program = torch.onnx.export(torch.nn.ReLU(), (torch.ones(2),))
    >>> program(torch.tensor([-1.0, 2.0]))
    (tensor([0., 2.]),)
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._module: Any = None

    def __call__(self, *args: Tensor, **kwargs: Tensor) -> tuple[Any, ...]:
        """The results for inputs, as the file describes them; always a tuple."""
        if self._module is None:
            self._module = load(io.BytesIO(self._data))
        out = self._module(*args, **kwargs)
        return out if isinstance(out, tuple) else (out,)

    def save(
        self,
        destination: str | os.PathLike[str],
        *,
        include_initializers: bool = True,
        keep_initializers_as_inputs: bool = False,
        external_data: bool | None = None,
    ) -> None:
        """Write the file; it replaces an older one at once.

        Raises:
            NotImplementedError: other forms than the one that was exported; `export` has arguments
                for them.
        """
        if not include_initializers or keep_initializers_as_inputs or external_data:
            raise UnsupportedError(
                "ONNXProgram.save(): include_initializers, keep_initializers_as_inputs and external_data are not supported; "
                "export(export_params=False) and export(keep_initializers_as_inputs=True) write such files"
            )
        writer.write(self._data, destination)

    @property
    def model_proto(self) -> Any:
        """The model as an object of the `onnx` package, which must be installed."""
        return writer.model_proto(self._data)

    def __repr__(self) -> str:
        return f"ONNXProgram({len(self._data)} bytes)"


def export(
    model: Any,
    args: tuple[Any, ...] = (),
    f: str | os.PathLike[str] | Any = None,
    *,
    kwargs: dict[str, Any] | None = None,
    verbose: bool | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    opset_version: int | None = None,
    dynamo: bool = True,
    external_data: bool = True,
    dynamic_shapes: Any = None,
    custom_translation_table: Any = None,
    report: bool = False,
    optimize: bool = True,
    verify: bool = False,
    profile: bool = False,
    dump_exported_program: bool = False,
    artifacts_dir: str | os.PathLike[str] = ".",
    export_params: bool = True,
    keep_initializers_as_inputs: bool = False,
    dynamic_axes: Mapping[str, Any] | None = None,
    training: Any = TrainingMode.EVAL,
    operator_export_type: Any = None,
    do_constant_folding: bool = True,
    custom_opsets: Mapping[str, int] | None = None,
    export_modules_as_functions: Any = False,
    autograd_inlining: bool = True,
) -> ONNXProgram:
    """Write a model as an ONNX file: its forward for example inputs, in eval mode, with the
    parameters by their state_dict names.

    Args:
        model: a module, an `ExportedProgram`, or a function of tensors.
        args: the positional arguments in a tuple (or one tensor).
        f: path or binary stream; None: nothing is written, the result has the file.
        kwargs: keyword arguments of the call; they follow `args` among the inputs.
        verbose: print the graph.
        input_names: names of the inputs, tensors in the order of the arguments; further names
            rename parameters.
        output_names: names of the outputs.
        opset_version: 13 to 23 (default 18).
        dynamo, external_data, optimize, autograd_inlining, artifacts_dir: accepted; there is one
            way to export, into one file.
        dynamic_shapes: which sizes are open, as in `torch.export.export`; names instead of `Dim`
            may be given.
        verify: run the file by `load` and compare the results.
        export_params: False: parameters become inputs of the graph.
        keep_initializers_as_inputs: list parameters as inputs too.
        dynamic_axes: for names of inputs the axes whose size is open: `{"x": {0: "batch"}}` or
            `{"x": [0]}`. Inputs that share a name share the size. What is named for outputs follows
            from the inputs and is only checked for the name.
        training: None or TrainingMode.EVAL; a model in training is not exported.
        do_constant_folding: compute operations on constants now.

    Raises:
        UnsupportedOperatorError: lists every operation without translation, with the lines that
            called it.
        NotImplementedError: something recorded depends on the values of the inputs, or an argument
            is not supported.

    Source: ONNX operators, https://onnx.ai/onnx/operators/

    >>> import pellucid as torch
    >>> x = torch.ones(1, 3)
    >>> program = torch.onnx.export(torch.nn.Linear(3, 2), (x,), dynamic_shapes=({0: "batch"},), verify=True)
    >>> program(torch.ones(5, 3))[0].shape
    torch.Size([5, 2])
    """
    refused = {
        "custom_translation_table": custom_translation_table,
        "report": report,
        "profile": profile,
        "custom_opsets": custom_opsets,
        "dump_exported_program": dump_exported_program,
        "export_modules_as_functions": export_modules_as_functions,
        "operator_export_type": operator_export_type is not None
        and getattr(operator_export_type, "value", 0) != 0,
    }
    for name, value in refused.items():
        if value:
            raise UnsupportedError(f"onnx.export(): {name} is not supported")
    positional = (args,) if isinstance(args, Tensor) else tuple(args)
    given = dict(kwargs or {})
    if kwargs is None and positional and isinstance(positional[-1], dict):
        *first, given = positional
        positional = tuple(first)
    if dynamic_shapes is not None:
        if dynamic_axes is not None:
            raise ArgumentValueError("onnx.export(): give dynamic_shapes or dynamic_axes, not both")
        by_input = _named_axes(model, positional, given, dynamic_shapes)
        words = list(input_names or [])
        dynamic_axes = {
            words[k] if k < len(words) else f"input_{k}": axes for k, axes in by_input.items()
        }
    runs = model.module() if isinstance(model, ExportedProgram) else model
    file = io.BytesIO()
    writer.export(
        runs,
        positional,
        file,
        kwargs=given,
        export_params=export_params,
        verbose=verbose,
        input_names=input_names,
        output_names=output_names,
        opset_version=opset_version,
        dynamic_axes=dynamic_axes,
        training=training,
        keep_initializers_as_inputs=keep_initializers_as_inputs,
        do_constant_folding=do_constant_folding,
    )
    program = ONNXProgram(file.getvalue())
    if verify:
        _verify(program, runs, positional, given)
    if f is not None:
        writer.write(program._data, f)
    return program


def _named_axes(
    model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], given: Any
) -> dict[int, dict[int, str]]:
    """The open sizes by the number of the input, with their names; what is not named is fixed."""
    target = getattr(model, "forward", model)
    if isinstance(given, dict):
        unknown = set(given) - {*names(target, args), *kwargs}
        if unknown:
            raise ArgumentValueError(
                f"dynamic_shapes names arguments that are not given: {sorted(unknown)}"
            )
        given = {name: given.get(name) for name in (*names(target, args), *kwargs)}
    else:
        given = [*given, *[None] * (len(args) + len(kwargs) - len(given))]
    leaves = tree_flatten((args, kwargs))[0]
    return {
        k: {
            axis: f"s{leaves[k].shape[axis]}" if a.name[0] == "_" else a.name
            for axis, a in where.items()
        }
        for k, where in dynamic_sizes(target, args, kwargs, given).axes.items()
    }


def _verify(
    program: ONNXProgram, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Compare what the file computes with what the model computes."""
    want: list[Any] = []
    inputs: list[Any] = []
    writer.flatten([list(args), kwargs], inputs)
    with writer.eval_mode(model):
        writer.flatten(model(*args, **kwargs), want)
    for k, (got, wanted) in enumerate(zip(program(*inputs), want, strict=True)):
        assert_close(got.detach(), wanted.detach(), rtol=1e-3, atol=1e-4, msg=_differs(k))


def _differs(k: int) -> Callable[[str], str]:
    return lambda text: f"onnx.export(): output {k} of the file differs. {text}"
