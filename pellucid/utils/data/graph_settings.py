"""`torch.utils.data.graph_settings`."""

from ...data.pipes.graph import apply_random_seed as apply_random_seed
from ...data.pipes.graph import apply_sharding as apply_sharding
from ...data.pipes.graph import apply_shuffle_seed as apply_shuffle_seed
from ...data.pipes.graph import apply_shuffle_settings as apply_shuffle_settings
from ...data.pipes.graph import get_all_graph_pipes as get_all_graph_pipes

__all__ = [
    "apply_random_seed",
    "apply_sharding",
    "apply_shuffle_seed",
    "apply_shuffle_settings",
    "get_all_graph_pipes",
]
