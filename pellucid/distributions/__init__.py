"""`torch.distributions`: probability distributions, constraints, transforms and Kullback-Leibler divergences."""

from .bernoulli import Bernoulli as Bernoulli
from .categorical import Categorical as Categorical
from .distribution import Distribution as Distribution
from .exp_family import ExponentialFamily as ExponentialFamily
from .normal import Normal as Normal
from .uniform import Uniform as Uniform
