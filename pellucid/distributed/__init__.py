"""`torch.distributed`: processes on one machine or several that work together through MPI.

MPI is loaded by `init_process_group`, not before.
[docs/distributed.md](../../docs/distributed.md) explains how processes find each other.

>>> import pellucid as torch
>>> import pellucid.distributed as dist
>>> rank = dist.get_rank() if dist.is_available() and dist.is_initialized() else 0
>>> rank
0
"""

from __future__ import annotations

import enum as _enum
from typing import Any as _Any

from ..api.attach import suggest_names as _suggest_names
from . import _identities
from . import nn as nn
from .barriers import barrier as barrier
from .barriers import breakpoint as breakpoint
from .barriers import monitored_barrier as monitored_barrier
from .coalesced import _coalescing_manager as _coalescing_manager
from .coalesced import all_gather_coalesced as all_gather_coalesced
from .coalesced import all_reduce_coalesced as all_reduce_coalesced
from .coalesced import split_group as split_group
from .collectives import all_gather as all_gather
from .collectives import all_gather_into_tensor as all_gather_into_tensor
from .collectives import all_reduce as all_reduce
from .collectives import broadcast as broadcast
from .collectives import gather as gather
from .collectives import reduce as reduce
from .collectives import scatter as scatter
from .ddp.hooks import BuiltinCommHookType as BuiltinCommHookType
from .ddp.reducer import GradBucket as GradBucket
from .exchanges import all_to_all as all_to_all
from .exchanges import all_to_all_single as all_to_all_single
from .exchanges import reduce_scatter as reduce_scatter
from .exchanges import reduce_scatter_tensor as reduce_scatter_tensor
from .groups import Backend as Backend
from .groups import GroupMember as GroupMember
from .groups import ProcessGroup as ProcessGroup
from .groups import _rank_not_in_group as _rank_not_in_group
from .groups import default_group as _get_default_group
from .groups import destroy_process_group as destroy_process_group
from .groups import get_backend as get_backend
from .groups import get_backend_config as get_backend_config
from .groups import get_default_backend_for_device as get_default_backend_for_device
from .groups import get_global_rank as get_global_rank
from .groups import get_group_rank as get_group_rank
from .groups import get_node_local_rank as get_node_local_rank
from .groups import get_pg_count as get_pg_count
from .groups import get_process_group_ranks as get_process_group_ranks
from .groups import get_rank as get_rank
from .groups import get_world_size as get_world_size
from .groups import group as group
from .groups import init_process_group as init_process_group
from .groups import is_available as is_available
from .groups import is_backend_available as is_backend_available
from .groups import is_gloo_available as is_gloo_available
from .groups import is_initialized as is_initialized
from .groups import is_mpi_available as is_mpi_available
from .groups import is_nccl_available as is_nccl_available
from .groups import is_torchelastic_launched as is_torchelastic_launched
from .groups import is_ucc_available as is_ucc_available
from .groups import is_xccl_available as is_xccl_available
from .groups import new_group as new_group
from .groups import new_subgroups as new_subgroups
from .groups import new_subgroups_by_enumeration as new_subgroups_by_enumeration
from .job.stores import DistBackendError as DistBackendError
from .job.stores import DistError as DistError
from .job.stores import DistNetworkError as DistNetworkError
from .job.stores import DistStoreError as DistStoreError
from .job.stores import FileStore as FileStore
from .job.stores import HashStore as HashStore
from .job.stores import PrefixStore as PrefixStore
from .job.stores import QueueEmptyError as QueueEmptyError
from .job.stores import Store as Store
from .job.stores import TCPStore as TCPStore
from .mesh import DeviceMesh as DeviceMesh
from .mesh import init_device_mesh as init_device_mesh
from .messages import P2POp as P2POp
from .messages import batch_isend_irecv as batch_isend_irecv
from .messages import irecv as irecv
from .messages import isend as isend
from .messages import recv as recv
from .messages import send as send
from .methods import AllreduceCoalescedOptions as AllreduceCoalescedOptions
from .methods import AllreduceOptions as AllreduceOptions
from .methods import AllToAllOptions as AllToAllOptions
from .methods import BarrierOptions as BarrierOptions
from .methods import BroadcastOptions as BroadcastOptions
from .methods import GatherOptions as GatherOptions
from .methods import ReduceOptions as ReduceOptions
from .methods import ReduceScatterOptions as ReduceScatterOptions
from .methods import ScatterOptions as ScatterOptions
from .objects import all_gather_object as all_gather_object
from .objects import broadcast_object_list as broadcast_object_list
from .objects import gather_object as gather_object
from .objects import recv_object_list as recv_object_list
from .objects import scatter_object_list as scatter_object_list
from .objects import send_object_list as send_object_list
from .rendezvous import DEFAULT_TIMEOUT as default_pg_timeout  # noqa: N811
from .rendezvous import register_rendezvous_handler as register_rendezvous_handler
from .transport.reductions import RedOpType as RedOpType
from .transport.reductions import ReduceOp as ReduceOp
from .transport.work import Work as Work

all_gather_single = all_gather_into_tensor
reduce_scatter_single = reduce_scatter_tensor
reduce_op = ReduceOp
GroupName = str


class DebugLevel(_enum.Enum):
    """How much is checked (TORCH_DISTRIBUTED_DEBUG). Here the ranks' calls are compared at every level.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> [level.name for level in dist.DebugLevel]
    ['OFF', 'INFO', 'DETAIL']
    """

    OFF = 0
    INFO = 1
    DETAIL = 2


def get_debug_level() -> DebugLevel:
    """DETAIL: the ranks' calls are compared whatever TORCH_DISTRIBUTED_DEBUG says.

    >>> get_debug_level().name
    'DETAIL'
    """
    return DebugLevel.DETAIL


def set_debug_level(level: _Any) -> None:
    """Accepted, without effect: the ranks' calls are compared at every level.

    >>> import pellucid.distributed as dist
    >>> dist.set_debug_level(dist.DebugLevel.DETAIL)
    """


def set_debug_level_from_env() -> None:
    """Accepted, without effect: the ranks' calls are compared at every level.

    >>> import pellucid.distributed as dist
    >>> dist.set_debug_level_from_env()
    """


def supports_complex(reduceOp: _Any) -> bool:  # noqa: N803 (PyTorch's name)
    """Whether a reduction is defined for complex numbers.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.supports_complex(dist.ReduceOp.SUM), dist.supports_complex(dist.ReduceOp.MAX)
    (True, False)
    """
    return reduceOp in (RedOpType.SUM, RedOpType.AVG)


_identities.publish(globals())
_suggest_names(__name__)

# Files that PyTorch has no module for. `from .groups import ...` finds them, users' code does not.
for _name in (
    "averaging coalesced collectives engine failures functional groups hooks join mesh messages objects powersgd reducer "
    "reductions server shared sparse stores watch work world"
).split():
    globals().pop(_name, None)
del _name
