"""`torch._functorch.config`: the settings that scripts make. They are kept, and none changes
anything: what a backward keeps is decided by its own rules.
"""

from __future__ import annotations

import sys

from ..compiler.options import Config

config = Config(
    "torch._functorch.config",
    {
        "activation_memory_budget": 1.0,
        "activation_memory_budget_runtime_estimator": "flops",
        "activation_memory_budget_solver": "dp",
        "aggressive_recomputation": False,
        "backward_pass_autocast": "same_as_forward",
        "ban_recompute_reductions": True,
        "cse": True,
        "debug_assert": False,
        "debug_partitioner": False,
        "donated_buffer": True,
        "enable_autograd_cache": True,
        "enable_remote_autograd_cache": None,
        "fake_tensor_allow_meta": True,
        "functionalize_rng_ops": False,
        "recompute_views": False,
        "static_weight_shapes": True,
        "strict_autograd_cache": False,
        "treat_parameters_as_free_to_save": True,
        "view_replay_for_aliased_outputs": True,
    },
)
for _name in ("__doc__", "__file__", "__loader__", "__package__", "__spec__"):
    setattr(config, _name, globals()[_name])
sys.modules[__name__] = config
