"""`torch.distributed.fsdp`: fully sharded data parallel."""

from .. import rules as _rules
from .module import CPUOffloadPolicy as CPUOffloadPolicy
from .module import FSDPModule as FSDPModule
from .module import MixedPrecisionPolicy as MixedPrecisionPolicy
from .module import OffloadPolicy as OffloadPolicy
from .module import UnshardHandle as UnshardHandle
from .module import fully_shard as fully_shard
from .module import register_fsdp_forward_method as register_fsdp_forward_method
from .module import share_comm_ctx as share_comm_ctx
