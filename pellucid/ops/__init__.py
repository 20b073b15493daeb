"""The operations, one file for each family; importing this package records them all."""

from . import arith as arith
from . import basic as basic
from . import bitwise as bitwise
from . import compare as compare
from . import complex as complex
from . import create as create
from . import explog as explog
from . import fft as fft
from . import index as index
from . import join as join
from . import matmul as matmul
from . import minmax as minmax
from . import power as power
from . import random_create as random_create
from . import reduce as reduce
from . import reduce_select as reduce_select
from . import rounding as rounding
from . import scan as scan
from . import search as search
from . import softmax as softmax
from . import sort as sort
from . import trig as trig
from . import view as view
from . import view_parts as view_parts
from . import view_storage as view_storage
