"""The rules of operators, by family; importing this registers all of them."""

from . import factories as factories
from . import networks as networks
from . import pointwise as pointwise
from . import products as products
from . import reductions as reductions
from . import views as views
from .pointwise import found_rule as found_rule
