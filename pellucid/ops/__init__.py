"""The operations, one file for each family; importing this package records them all."""

from . import arith as arith
from . import basic as basic
from . import compare as compare
from . import explog as explog
from . import trig as trig
