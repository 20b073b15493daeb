"""`torch.utils._pytree`: the module `pellucid._pytree`, which lies below everything that takes
containers apart.
"""

import sys

from .. import _pytree

sys.modules[__name__] = _pytree
