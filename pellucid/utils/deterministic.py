"""`torch.utils.deterministic`: whether new memory without values is filled where deterministic
algorithms are asked for.
"""

import sys
import types

from ..api.settings import SETTINGS, set_fill_uninitialized_memory


class _Deterministic(types.ModuleType):
    """The module; its attribute is a setting."""

    @property
    def fill_uninitialized_memory(self) -> bool:
        """Whether `torch.empty` and its kin fill new memory with nan or the largest value."""
        return SETTINGS["fill_uninitialized_memory"]

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: bool) -> None:
        set_fill_uninitialized_memory(mode)


sys.modules[__name__].__class__ = _Deterministic
