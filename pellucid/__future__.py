"""`torch.__future__`: what `Module.to` and its kin do with parameters.

>>> import pellucid as torch
>>> model = torch.nn.Linear(1, 1)
>>> before = model.weight
>>> torch.__future__.set_overwrite_module_params_on_conversion(True)
>>> model.double().weight is before
False
>>> torch.__future__.set_overwrite_module_params_on_conversion(False)
"""

from .nn.modules._convert import replacing as _replacing


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Whether a conversion gives a module new parameters, or (by default) new data to those it has."""
    _replacing.overwrite = value


def get_overwrite_module_params_on_conversion() -> bool:
    """Whether a conversion gives a module new parameters."""
    return _replacing.overwrite


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Whether a conversion swaps parameters with converted ones, by `torch.utils.swap_tensors`."""
    _replacing.swap = value


def get_swap_module_params_on_conversion() -> bool:
    """Whether a conversion swaps parameters with converted ones."""
    return _replacing.swap
