"""What libraries read from PyTorch's inner modules: the groups of this process
(`distributed_c10d._world`), and the settings of `FullyShardedDataParallel`, whose functions find no
such module in any model, because it needs an accelerator.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..dtypes import dtype
from ..errors import OperationError, warn
from .groups import ProcessGroup, _state, get_backend_config


class _World:
    """The process groups, as PyTorch's own modules see them."""

    pg_coalesce_state: dict[Any, Any] = {}

    @property
    def default_pg(self) -> ProcessGroup | None:
        """The group of all processes; None before `init_process_group`."""
        return _state.default

    @default_pg.setter
    def default_pg(self, value: ProcessGroup | None) -> None:
        _state.default = value

    @property
    def pg_map(self) -> dict[ProcessGroup, tuple[str, Any]]:
        """For each group its backend and store."""
        return {g: (g.backend_name, g.store) for g in _state.groups.values()}

    @property
    def pg_names(self) -> dict[ProcessGroup, str]:
        """For each group its name."""
        return {g: g.group_name for g in _state.groups.values()}

    @property
    def pg_group_ranks(self) -> dict[ProcessGroup, dict[int, int]]:
        """For each group {rank in the world: rank in the group}."""
        return {g: {r: k for k, r in enumerate(g.ranks)} for g in _state.groups.values()}

    @property
    def pg_backend_config(self) -> dict[ProcessGroup, str]:
        """For each group the backends of kinds of devices."""
        return {g: get_backend_config(g) for g in _state.groups.values()}

    @property
    def group_count(self) -> int:
        """How many groups have been made."""
        return _state.made


world = _World()


# ---- FullyShardedDataParallel --------------------------------------------------------------------
class StateDictType(enum.Enum):
    """How `FullyShardedDataParallel` would save its parameters.

    >>> import pellucid.distributed.fsdp as fsdp
    >>> fsdp.StateDictType.FULL_STATE_DICT
    <StateDictType.FULL_STATE_DICT: 1>
    """

    FULL_STATE_DICT = enum.auto()
    LOCAL_STATE_DICT = enum.auto()
    SHARDED_STATE_DICT = enum.auto()


@dataclasses.dataclass
class StateDictConfig:
    """Settings of a state dict.

    >>> import pellucid.distributed.fsdp as fsdp
    >>> fsdp.StateDictConfig()
    StateDictConfig(offload_to_cpu=False)
    """

    offload_to_cpu: bool = False


@dataclasses.dataclass
class FullStateDictConfig(StateDictConfig):
    """Settings of a state dict of whole parameters.

    >>> import pellucid.distributed.fsdp as fsdp
    >>> fsdp.FullStateDictConfig(rank0_only=True)
    FullStateDictConfig(offload_to_cpu=False, rank0_only=True)
    """

    rank0_only: bool = False


@dataclasses.dataclass
class LocalStateDictConfig(StateDictConfig):
    """Settings of a state dict of this rank's part.

    >>> import pellucid.distributed.fsdp as fsdp
    >>> fsdp.LocalStateDictConfig()
    LocalStateDictConfig(offload_to_cpu=False)
    """


@dataclasses.dataclass
class ShardedStateDictConfig(StateDictConfig):
    """Settings of a state dict of sharded parameters.

    >>> import pellucid.distributed.fsdp as fsdp
    >>> fsdp.ShardedStateDictConfig().offload_to_cpu
    False
    """

    _use_dtensor: bool = False


@dataclasses.dataclass
class OptimStateDictConfig:
    """Settings of an optimizer's state dict.

    >>> import pellucid.distributed.fsdp as fsdp
    >>> fsdp.OptimStateDictConfig()
    OptimStateDictConfig(offload_to_cpu=True)
    """

    offload_to_cpu: bool = True


@dataclasses.dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """Settings of an optimizer's state dict of whole parameters.

    >>> import pellucid.distributed.fsdp as fsdp
    >>> fsdp.FullOptimStateDictConfig()
    FullOptimStateDictConfig(offload_to_cpu=True, rank0_only=False)
    """

    rank0_only: bool = False


@dataclasses.dataclass
class LocalOptimStateDictConfig(OptimStateDictConfig):
    """Settings of an optimizer's state dict of this rank's part.

    >>> import pellucid.distributed.fsdp as fsdp
    >>> fsdp.LocalOptimStateDictConfig()
    LocalOptimStateDictConfig(offload_to_cpu=False)
    """

    offload_to_cpu: bool = False


@dataclasses.dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """Settings of an optimizer's state dict of sharded parameters.

    >>> import pellucid.distributed.fsdp as fsdp
    >>> fsdp.ShardedOptimStateDictConfig().offload_to_cpu
    True
    """

    _use_dtensor: bool = False


@dataclasses.dataclass
class StateDictSettings:
    """A type of state dict with its settings.

    >>> import pellucid.distributed.fsdp as fsdp
    >>> kind = fsdp.StateDictType.FULL_STATE_DICT
    >>> fsdp.StateDictSettings(kind, fsdp.FullStateDictConfig(), fsdp.FullOptimStateDictConfig()).state_dict_type
    <StateDictType.FULL_STATE_DICT: 1>
    """

    state_dict_type: StateDictType
    state_dict_config: StateDictConfig
    optim_state_dict_config: OptimStateDictConfig


@dataclasses.dataclass
class CPUOffload:
    """Whether parameters would lie in the host's memory.

    >>> import pellucid.distributed.fsdp as fsdp
    >>> fsdp.CPUOffload()
    CPUOffload(offload_params=False)
    """

    offload_params: bool = False


@dataclasses.dataclass(frozen=True)
class MixedPrecision:
    """The dtypes with which `FullyShardedDataParallel` would compute.

    >>> import pellucid as torch
    >>> import pellucid.distributed.fsdp as fsdp
    >>> fsdp.MixedPrecision(param_dtype=torch.bfloat16).param_dtype
    torch.bfloat16
    """

    param_dtype: dtype | None = None
    reduce_dtype: dtype | None = None
    buffer_dtype: dtype | None = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True
    _module_classes_to_ignore: Any = ()


_DEPRECATED = (
    "FSDP.state_dict_type() and FSDP.set_state_dict_type() are being deprecated. Please use APIs, get_state_dict() and set_state_dict(), "
    "which can support different parallelisms, FSDP1, FSDP2, DDP. API doc: "
    "https://pytorch.org/docs/stable/distributed.checkpoint.html#torch.distributed.checkpoint.state_dict.get_state_dict .Tutorial: "
    "https://pytorch.org/tutorials/recipes/distributed_checkpoint_recipe.html ."
)
_INSTEAD = "torch.distributed.fsdp.fully_shard does the same on processors"


class FullyShardedDataParallel:
    """Cannot be created without an accelerator; the error is PyTorch's. Its functions take models without such modules.

    >>> import pellucid as torch
    >>> from pellucid.distributed.fsdp import FullyShardedDataParallel
    >>> FullyShardedDataParallel.fsdp_modules(torch.nn.Linear(2, 2))
    []
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise OperationError(
            "FSDP needs a non-CPU accelerator device, but no accelerator device is detected.",
            notes=[_INSTEAD],
        )

    @staticmethod
    def fsdp_modules(module: Any, root_only: bool = False) -> list[Any]:
        """The modules of this type inside a module: none."""
        return []

    @staticmethod
    def get_state_dict_type(module: Any) -> Any:
        """The settings of the modules of this type inside a module: None."""
        return None

    @staticmethod
    def set_state_dict_type(
        module: Any,
        state_dict_type: StateDictType,
        state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> StateDictSettings:
        """Set how the modules of this type inside a module are saved; returns the settings before."""
        warn(_DEPRECATED, FutureWarning)
        return StateDictSettings(None, None, None)  # type: ignore[arg-type]

    @staticmethod
    @contextmanager
    def state_dict_type(
        module: Any,
        state_dict_type: StateDictType,
        state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> Iterator[None]:
        """Inside the block the modules of this type inside a module are saved so."""
        warn(_DEPRECATED, FutureWarning)
        yield

    @staticmethod
    @contextmanager
    def summon_full_params(
        module: Any,
        recurse: bool = True,
        writeback: bool = True,
        rank0_only: bool = False,
        offload_to_cpu: bool = False,
        with_grads: bool = False,
    ) -> Iterator[None]:
        """Inside the block the modules of this type inside a module have whole parameters."""
        yield

    @staticmethod
    def optim_state_dict(
        model: Any, optim: Any, optim_state_dict: dict[str, Any] | None = None, group: Any = None
    ) -> dict[str, Any]:
        """The state of an optimizer of such modules; fails as PyTorch's does, because there are none."""
        return _of_no_module("get_optimizer_state_dict")

    @staticmethod
    def optim_state_dict_to_load(
        model: Any,
        optim: Any,
        optim_state_dict: dict[str, Any],
        is_named_optimizer: bool = False,
        load_directly: bool = False,
        group: Any = None,
    ) -> dict[str, Any]:
        """A state for an optimizer of such modules; fails as PyTorch's does, because there are none."""
        return _of_no_module("set_optimizer_state_dict")

    @staticmethod
    def rekey_optim_state_dict(
        optim_state_dict: dict[str, Any],
        optim_state_key_type: Any,
        model: Any,
        optim_input: Any = None,
        optim: Any = None,
    ) -> dict[str, Any]:
        """The state of an optimizer by the parameters' names, or by their numbers: what
        `optim_state_key_type` says.
        """
        names = [name for name, _ in model.named_parameters()]
        table: dict[Any, Any] = dict(enumerate(names))
        if getattr(optim_state_key_type, "name", None) == "PARAM_ID":
            table = {name: number for number, name in enumerate(names)}

        def key(old: Any) -> Any:
            return table.get(old, old)

        return {
            "state": {key(k): v for k, v in optim_state_dict["state"].items()},
            "param_groups": [
                {**group, "params": sorted(key(k) for k in group["params"])}
                for group in optim_state_dict["param_groups"]
            ],
        }

    @staticmethod
    def full_optim_state_dict(
        model: Any,
        optim: Any,
        optim_input: Any = None,
        rank0_only: bool = True,
        group: Any = None,
    ) -> dict[str, Any]:
        """The state of an optimizer of such modules; fails because there are none."""
        return _of_no_module("get_optimizer_state_dict")

    @staticmethod
    def scatter_full_optim_state_dict(
        full_optim_state_dict: dict[str, Any] | None,
        model: Any,
        optim_input: Any = None,
        optim: Any = None,
        group: Any = None,
    ) -> dict[str, Any]:
        """A state for an optimizer of such modules; fails because there are none."""
        return _of_no_module("set_optimizer_state_dict")

    @staticmethod
    def flatten_sharded_optim_state_dict(
        sharded_optim_state_dict: dict[str, Any], model: Any, optim: Any
    ) -> dict[str, Any]:
        """A state for an optimizer of such modules; fails because there are none."""
        return _of_no_module("set_optimizer_state_dict")


def _of_no_module(instead: str) -> Any:
    error = AttributeError("'NoneType' object has no attribute 'optim_state_dict_config'")
    error.add_note(
        f"no module of this model is a FullyShardedDataParallel: use torch.distributed.checkpoint.state_dict.{instead}"
    )
    raise error


def clean_tensor_name(tensor_name: str) -> str:
    """A parameter's dotted name without the names that wrappers put into it.

    >>> from pellucid.distributed.fsdp._common_utils import clean_tensor_name
    >>> clean_tensor_name("_fsdp_wrapped_module.block._checkpoint_wrapped_module.weight")
    'block.weight'
    """
    for wrapper in ("_fsdp_wrapped_module.", "_checkpoint_wrapped_module."):
        tensor_name = tensor_name.replace(wrapper, "")
    return tensor_name
