"""The operations, one file for each family; importing this package records them all."""

from . import arith as arith
from . import basic as basic
from . import compare as compare
from . import create as create
from . import explog as explog
from . import matmul as matmul
from . import reduce as reduce
from . import softmax as softmax
from . import trig as trig
