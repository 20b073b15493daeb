"""Instance normalization (see batchnorm, with which it shares its code)."""

from .batchnorm import InstanceNorm1d as InstanceNorm1d
from .batchnorm import InstanceNorm2d as InstanceNorm2d
from .batchnorm import InstanceNorm3d as InstanceNorm3d
from .batchnorm import LazyInstanceNorm1d as LazyInstanceNorm1d
from .batchnorm import LazyInstanceNorm2d as LazyInstanceNorm2d
from .batchnorm import LazyInstanceNorm3d as LazyInstanceNorm3d
from .batchnorm import _InstanceNorm as _InstanceNorm
