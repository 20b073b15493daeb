"""`torch.distributed.tensor.parallel`: layers whose matrices are cut by columns or rows.

Source: PyTorch's `torch.distributed.tensor.parallel`, whose classes these are; the scheme is that
of Shoeybi et al., Megatron-LM (https://arxiv.org/abs/1909.08053), and Korthikanti et al. for
sequences (https://arxiv.org/abs/2205.05198).
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatch
from typing import Any

from .. import nn
from ..core.tensor import Tensor
from ..distributed.mesh import DeviceMesh, current_mesh
from ..errors import ArgumentTypeError, ArgumentValueError, ContractError, UnsupportedError, warn
from .dtensor import DTensor, distribute_tensor
from .loss import loss_parallel as loss_parallel
from .placements import Placement, Replicate, Shard
from .tensor import distribute_module, replaced_parameter


class ParallelStyle:
    """How one module is made parallel: what `parallelize_module` applies."""

    src_data_rank: int | None = 0

    def _apply(self, module: nn.Module, device_mesh: DeviceMesh) -> nn.Module:
        raise NotImplementedError

    _shown: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)}' for name in self._shown)})"


def _with_layout(x: Any, mesh: DeviceMesh, layouts: Any, wanted: Any) -> DTensor:
    """A tensor as a distributed one: a plain one counts as the part of a layout, and is brought
    into another.
    """
    made = x if isinstance(x, DTensor) else DTensor.from_local(x, mesh, layouts)
    return (
        made.redistribute(placements=wanted)
        if layouts != wanted or made.placements != _front(wanted, made.ndim)
        else made
    )


def _front(layouts: Sequence[Placement], ndim: int) -> tuple[Placement, ...]:
    return tuple([Shard(p.dim % ndim) if type(p) is Shard else p for p in layouts])


class _Cut(ParallelStyle):
    """A linear layer or an embedding whose parameters are cut."""

    _shown = ("input_layouts", "output_layouts", "use_local_output")
    _linear: dict[str, Placement]
    _embedding: Placement

    def __init__(
        self, input_layouts: Placement, output_layouts: Placement, use_local_output: bool
    ) -> None:
        self.input_layouts, self.output_layouts = (input_layouts,), (output_layouts,)
        self.use_local_output = use_local_output
        self.desired_input_layouts: tuple[Placement, ...] = (Replicate(),)

    def _apply(self, module: nn.Module, device_mesh: DeviceMesh) -> nn.Module:
        if not isinstance(module, (nn.Linear, nn.Embedding)):
            raise UnsupportedError(
                f"{type(self).__name__} currently only support nn.Linear and nn.Embedding!"
            )
        linear = isinstance(module, nn.Linear)
        wanted = self._wanted(linear)

        def partition(name: str, inner: nn.Module, mesh: DeviceMesh) -> None:
            for key, param in list(inner.named_parameters(recurse=False)):
                placement = self._linear[key] if linear else self._embedding
                value = distribute_tensor(
                    param.detach(), mesh, [placement], src_data_rank=self.src_data_rank
                )
                replaced_parameter(inner, key, value, param.requires_grad)

        def before(m: nn.Module, inputs: Any, mesh: DeviceMesh) -> Any:
            return _with_layout(inputs[0], mesh, self.input_layouts, wanted)

        def after(m: nn.Module, outputs: Any, mesh: DeviceMesh) -> Any:
            if outputs.placements != _front(self.output_layouts, outputs.ndim):
                outputs = outputs.redistribute(placements=self.output_layouts)
            return outputs.to_local() if self.use_local_output else outputs

        return distribute_module(module, device_mesh, partition, before, after)

    def _wanted(self, linear: bool) -> tuple[Placement, ...]:
        return self.desired_input_layouts


class ColwiseParallel(_Cut):
    """Each rank computes some of the outputs of a linear layer, or some columns of an embedding.

    Args:
        input_layouts: of a plain input; default `Replicate()`.
        output_layouts: default `Shard(-1)`.
        use_local_output: return a plain tensor, this rank's part.
    """

    _linear = {"weight": Shard(0), "bias": Shard(0)}
    _embedding = Shard(1)

    def __init__(
        self,
        *,
        input_layouts: Placement | None = None,
        output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:
        super().__init__(
            input_layouts or Replicate(), output_layouts or Shard(-1), use_local_output
        )


class RowwiseParallel(_Cut):
    """Each rank multiplies with some of the inputs of a linear layer, or looks up some rows of an
    embedding; the results are added.

    Args:
        input_layouts: of a plain input; default `Shard(-1)`.
        output_layouts: default `Replicate()`.
        use_local_output: return a plain tensor, this rank's part.
    """

    _linear = {"weight": Shard(1), "bias": Replicate()}
    _embedding = Shard(0)

    def __init__(
        self,
        *,
        input_layouts: Placement | None = None,
        output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:
        super().__init__(
            input_layouts or Shard(-1), output_layouts or Replicate(), use_local_output
        )

    def _wanted(self, linear: bool) -> tuple[Placement, ...]:
        self.desired_input_layouts = (Shard(-1),) if linear else (Replicate(),)
        return self.desired_input_layouts


class SequenceParallel(ParallelStyle):
    """A norm or a dropout computes on a part of the sequence; its parameters are replicated."""

    _shown = ("sequence_dim", "use_local_output")

    def __init__(self, *, sequence_dim: int = 1, use_local_output: bool = False) -> None:
        self.sequence_sharding = (Shard(sequence_dim),)
        self.sequence_dim, self.use_local_output = sequence_dim, use_local_output

    def _apply(self, module: nn.Module, device_mesh: DeviceMesh) -> nn.Module:
        def partition(name: str, inner: nn.Module, mesh: DeviceMesh) -> None:
            for key, param in list(inner.named_parameters(recurse=False)):
                replaced_parameter(
                    inner,
                    key,
                    DTensor.from_local(param.detach(), mesh, [Replicate()]),
                    param.requires_grad,
                )

        def before(m: nn.Module, inputs: Any, mesh: DeviceMesh) -> Any:
            if not isinstance(inputs[0], Tensor):
                raise ArgumentValueError(
                    f"expecting input of {m} to be a torch.Tensor or DTensor, but got {inputs[0]}"
                )
            return _with_layout(inputs[0], mesh, self.sequence_sharding, self.sequence_sharding)

        def after(m: nn.Module, outputs: Any, mesh: DeviceMesh) -> Any:
            return outputs.to_local() if self.use_local_output else outputs

        return distribute_module(module, device_mesh, partition, before, after)


def _listed(layouts: Any) -> Any:
    return (layouts,) if isinstance(layouts, Placement) else layouts


class PrepareModuleInput(ParallelStyle):
    """Make a module's inputs distributed tensors of a layout, and bring them into another.

    Args:
        input_layouts: of the plain inputs; None for what is left alone.
        desired_input_layouts: what forward gets.
        input_kwarg_layouts, desired_input_kwarg_layouts: the same for keyword arguments.
        use_local_output: hand plain tensors on, this rank's parts.
    """

    _shown = (
        "input_layouts",
        "desired_input_layouts",
        "input_kwarg_layouts",
        "desired_input_kwarg_layouts",
        "use_local_output",
    )

    def __init__(
        self,
        *,
        input_layouts: Any = None,
        desired_input_layouts: Any = None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None,
        use_local_output: bool = False,
    ) -> None:
        self.input_layouts, self.desired_input_layouts = (
            _listed(input_layouts),
            _listed(desired_input_layouts),
        )
        self.use_local_output = use_local_output
        if self.input_layouts is not None:
            if self.desired_input_layouts is None:
                raise ContractError("desired module inputs should not be None!")
            if len(self.input_layouts) != len(self.desired_input_layouts):
                raise ContractError(
                    "input_layouts and desired_input_layouts should have same length!"
                )
        self.with_kwargs = input_kwarg_layouts is not None
        self.input_kwarg_layouts = input_kwarg_layouts or {}
        self.desired_input_kwarg_layouts = desired_input_kwarg_layouts or {}
        if self.with_kwargs and len(self.input_kwarg_layouts) != len(
            self.desired_input_kwarg_layouts
        ):
            raise ContractError(
                "input_kwarg_layouts and desired_input_kwarg_layouts should have same length!"
            )

    def _one(
        self, x: Any, mesh: DeviceMesh, layout: Placement | None, wanted: Placement | None
    ) -> Any:
        if layout is None:
            return x
        if not isinstance(x, Tensor):
            raise ContractError("expecting input to be a torch.Tensor!")
        made = _with_layout(x, mesh, (layout,), (layout if wanted is None else wanted,))
        return made.to_local() if self.use_local_output else made

    def _inputs(self, inputs: Any, mesh: DeviceMesh) -> Any:
        if self.input_layouts is None:
            return inputs
        given = inputs if isinstance(inputs, tuple) else (inputs,)
        if len(given) != len(self.input_layouts):
            raise ArgumentValueError("module inputs and input_layouts should have same length!")
        return tuple(
            [
                self._one(*four)
                for four in zip(
                    given,
                    [mesh] * len(given),
                    self.input_layouts,
                    self.desired_input_layouts,
                    strict=True,
                )
            ]
        )

    def _apply(self, module: nn.Module, device_mesh: DeviceMesh) -> nn.Module:
        def with_keywords(m: nn.Module, inputs: Any, named: dict[str, Any]) -> Any:
            layouts, wanted = self.input_kwarg_layouts, self.desired_input_kwarg_layouts
            return self._inputs(inputs, device_mesh), {
                k: self._one(v, device_mesh, layouts.get(k), wanted.get(k))
                for k, v in named.items()
            }

        if self.with_kwargs:
            module.register_forward_pre_hook(with_keywords, with_kwargs=True)
        else:
            module.register_forward_pre_hook(lambda m, inputs: self._inputs(inputs, device_mesh))
        return module


class PrepareModuleOutput(ParallelStyle):
    """Bring a module's outputs into a layout.

    Args:
        output_layouts: of the outputs as forward returns them; None for what is left alone.
        desired_output_layouts: what the caller gets.
        use_local_output: return plain tensors, this rank's parts.
    """

    _shown = ("output_layouts", "desired_output_layouts", "use_local_output")

    def __init__(
        self, *, output_layouts: Any, desired_output_layouts: Any, use_local_output: bool = True
    ) -> None:
        self.output_layouts, self.desired_output_layouts = (
            _listed(output_layouts),
            _listed(desired_output_layouts),
        )
        self.use_local_output = use_local_output
        if len(self.output_layouts) != len(self.desired_output_layouts):
            raise ContractError(
                "output_layouts and desired_output_layouts should have same length!"
            )

    def _outputs(self, outputs: Any, mesh: DeviceMesh) -> Any:
        given = outputs if isinstance(outputs, tuple) else (outputs,)
        if len(given) != len(self.output_layouts):
            raise ArgumentValueError("module outputs and output_layouts should have same length!")
        made = []
        for x, layout, wanted in zip(
            given, self.output_layouts, self.desired_output_layouts, strict=True
        ):
            if layout is not None:
                x = _with_layout(x, mesh, (layout,), (wanted,))
                x = x.to_local() if self.use_local_output else x
            made.append(x)
        return made[0] if len(made) == 1 else tuple(made)

    def _apply(self, module: nn.Module, device_mesh: DeviceMesh) -> nn.Module:
        module.register_forward_hook(lambda m, inputs, outputs: self._outputs(outputs, device_mesh))
        return module


class PrepareModuleInputOutput(ParallelStyle):
    """`PrepareModuleInput` and `PrepareModuleOutput` together."""

    def __init__(
        self,
        *,
        input_layouts: Any = None,
        desired_input_layouts: Any = None,
        input_kwarg_layouts: Any = None,
        desired_input_kwarg_layouts: Any = None,
        use_local_input: bool = False,
        output_layouts: Any,
        desired_output_layouts: Any,
        use_local_output: bool = True,
    ) -> None:
        self.prepare_module_input = PrepareModuleInput(
            input_layouts=input_layouts,
            desired_input_layouts=desired_input_layouts,
            input_kwarg_layouts=input_kwarg_layouts,
            desired_input_kwarg_layouts=desired_input_kwarg_layouts,
            use_local_output=use_local_input,
        )
        self.prepare_module_output = PrepareModuleOutput(
            output_layouts=output_layouts,
            desired_output_layouts=desired_output_layouts,
            use_local_output=use_local_output,
        )

    def _apply(self, module: nn.Module, device_mesh: DeviceMesh) -> nn.Module:
        self.prepare_module_input._apply(module, device_mesh)
        return self.prepare_module_output._apply(module, device_mesh)


def parallelize_module(
    module: nn.Module,
    device_mesh: DeviceMesh | None = None,
    parallelize_plan: ParallelStyle | dict[str, ParallelStyle] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> nn.Module:
    """Make a module, or modules in it, parallel over a mesh of one dimension.

    Args:
        parallelize_plan: a style, or styles by the modules' names, in which `*` stands for any.
        src_data_rank: whose parameters count; None: each rank cuts its own.
    """
    mesh = device_mesh or current_mesh()
    if parallelize_plan is None:
        warn(
            "No parallelize_plan is provided and auto-parallel is not supported at the moment, so this parallelize_module call will do "
            "nothing.",
        )
        return module
    if isinstance(parallelize_plan, ParallelStyle):
        parallelize_plan.src_data_rank = src_data_rank
        return parallelize_plan._apply(module, mesh)
    if not isinstance(parallelize_plan, dict):
        raise ArgumentTypeError(
            f"Expect Union[ParallelStyle, Dict[str, ParallelStyle]] for parallelize_plan, {type(parallelize_plan)} found!"
        )
    for path, style in parallelize_plan.items():
        if path == "":
            parallelize_module(module, mesh, style, src_data_rank=src_data_rank)
            continue
        token, _, rest = path.partition(".")
        matching = [child for name, child in module.named_children() if fnmatch(name, token)]
        if not matching:
            warn(
                f"Parallelize plan key '{path}' could not be resolved: no submodule matching token '{token}' in module {module}, "
                "skipping this plan entry.",
            )
        for child in matching:
            parallelize_module(
                child, mesh, {rest: style} if rest else style, src_data_rank=src_data_rank
            )
    return module
