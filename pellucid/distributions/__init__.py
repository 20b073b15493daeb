"""`torch.distributions`: probability distributions, constraints, transforms and Kullback-Leibler divergences."""

from . import constraints as constraints
from . import transforms as transforms
from . import utils as utils
from .bernoulli import Bernoulli as Bernoulli
from .beta import Beta as Beta
from .categorical import Categorical as Categorical
from .cauchy import Cauchy as Cauchy
from .chi2 import Chi2 as Chi2
from .constraint_registry import biject_to as biject_to
from .constraint_registry import transform_to as transform_to
from .dirichlet import Dirichlet as Dirichlet
from .distribution import Distribution as Distribution
from .exp_family import ExponentialFamily as ExponentialFamily
from .exponential import Exponential as Exponential
from .fishersnedecor import FisherSnedecor as FisherSnedecor
from .gamma import Gamma as Gamma
from .geometric import Geometric as Geometric
from .gumbel import Gumbel as Gumbel
from .half_cauchy import HalfCauchy as HalfCauchy
from .half_normal import HalfNormal as HalfNormal
from .independent import Independent as Independent
from .inverse_gamma import InverseGamma as InverseGamma
from .kumaraswamy import Kumaraswamy as Kumaraswamy
from .laplace import Laplace as Laplace
from .log_normal import LogNormal as LogNormal
from .logistic_normal import LogisticNormal as LogisticNormal
from .multivariate_normal import MultivariateNormal as MultivariateNormal
from .normal import Normal as Normal
from .pareto import Pareto as Pareto
from .poisson import Poisson as Poisson
from .studentT import StudentT as StudentT
from .transformed_distribution import TransformedDistribution as TransformedDistribution
from .transforms import *  # noqa: F403
from .uniform import Uniform as Uniform
from .weibull import Weibull as Weibull
