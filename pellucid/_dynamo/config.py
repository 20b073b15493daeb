"""`torch._dynamo.config`: which of its settings do something here, and which are kept.

`recompile_limit` (or `cache_size_limit`) is how many versions functions compiled afterwards keep;
`disable` runs all eagerly; `error_on_recompile` raises where another version would be traced. All
others are kept, and change nothing: what cannot be compiled runs eagerly in any case, shapes are
not dynamic, and values may be read.
"""

from __future__ import annotations

import sys
from typing import Any

from ..compiler.function import DEFAULTS, LIMIT, STANCE
from ..compiler.options import Config


def _limit(value: Any) -> None:
    DEFAULTS["limit"] = int(value)
    config._settings["recompile_limit"] = config._settings["cache_size_limit"] = value


def _stance(stance: str) -> Any:
    def set_it(on: Any) -> None:
        STANCE[0] = stance if on else "default"

    return set_it


config = Config(
    "torch._dynamo.config",
    {
        "accumulated_cache_size_limit": 256,
        "accumulated_recompile_limit": 256,
        "allow_rnn": False,
        "allow_unspec_int_on_nn_module": False,
        "assume_static_by_default": True,
        "automatic_dynamic_shapes": True,
        "cache_size_limit": LIMIT,
        "capture_dynamic_output_shape_ops": False,
        "capture_func_transforms": True,
        "capture_scalar_outputs": False,
        "compiled_autograd": False,
        "cprofile": False,
        "debug_dir_root": "",
        "disable": False,
        "do_not_emit_runtime_asserts": False,
        "dynamic_shapes": True,
        "enable_compiler_collectives": False,
        "error_on_recompile": False,
        "fail_on_recompile_limit_hit": False,
        "force_parameter_static_shapes": True,
        "force_unspec_int_unbacked_size_like_on_torchrec_kjt": False,
        "guard_nn_modules": True,
        "inline_inbuilt_nn_modules": True,
        "log_compilation_metrics": True,
        "log_file_name": None,
        "log_level": None,
        "numpy_default_complex": "complex128",
        "numpy_default_float": "float64",
        "numpy_default_int": "int64",
        "only_allow_pt2_compliant_ops": False,
        "optimize_ddp": True,
        "output_code": False,
        "prepare_freezing": False,
        "raise_on_ctx_manager_usage": True,
        "recompile_limit": LIMIT,
        "reorderable_logging_functions": set(),
        "replay_record_enabled": False,
        "repro_after": None,
        "repro_level": 2,
        "skip_fwd_side_effects_in_bwd_under_checkpoint": False,
        "skip_nnmodule_hook_guards": True,
        "specialize_float": False,
        "specialize_int": False,
        "suppress_errors": False,
        "trace_autograd_ops": False,
        "trace_numpy": True,
        "verbose": False,
    },
    {
        "recompile_limit": _limit,
        "cache_size_limit": _limit,
        "disable": _stance("force_eager"),
        "error_on_recompile": _stance("fail_on_recompile"),
    },
)
for _name in ("__doc__", "__file__", "__loader__", "__package__", "__spec__"):
    setattr(config, _name, globals()[_name])
sys.modules[__name__] = config
