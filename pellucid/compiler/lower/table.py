"""The operations with dedicated native code (neither loops nor matrix products), collected from the
kernel families.
"""

from __future__ import annotations

from types import ModuleType

from ...kernels import checks
from ...kernels.convolution import lower as convolution
from ...kernels.ctc import lower as ctc
from ...kernels.indexing import lower as indexing
from ...kernels.lowered import Handed, Lowering
from ...kernels.ordering import lower as ordering
from ...kernels.pooling import lower as pooling
from ...kernels.recurrent import lower as recurrent
from ...kernels.rows import lower as rows
from ...kernels.updates import lower as updates
from ...kernels.windows import lower as windows
from . import copies, random

FAMILIES: tuple[ModuleType, ...] = (
    checks,
    convolution,
    copies,
    ctc,
    indexing,
    ordering,
    pooling,
    random,
    recurrent,
    rows,
    updates,
    windows,
)
LOWERINGS: dict[str, Lowering] = {
    name: rule for family in FAMILIES for name, rule in family.LOWERINGS.items()
}
HANDED: dict[str, Handed] = {
    name: form for family in FAMILIES for name, form in getattr(family, "HANDED", {}).items()
}
