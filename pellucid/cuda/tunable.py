"""`torch.cuda.tunable`: the choice of a device's matrix products, which are not here."""

from __future__ import annotations

from .._absent import refusing as _refusing
from ..errors import no_cuda as _no_cuda

for _name in (
    "enable",
    "get_filename",
    "get_max_tuning_duration",
    "get_max_tuning_iterations",
    "get_results",
    "get_rotating_buffer_size",
    "get_validators",
    "is_enabled",
    "mgpu_tune_gemm_in_file",
    "read_file",
    "record_untuned_enable",
    "record_untuned_is_enabled",
    "set_filename",
    "set_max_tuning_duration",
    "set_max_tuning_iterations",
    "set_numerical_check_tolerances",
    "set_rotating_buffer_size",
    "tune_gemm_in_file",
    "tuning_enable",
    "tuning_is_enabled",
):
    globals()[_name] = _refusing(_name, _no_cuda)
