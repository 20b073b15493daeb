"""pyro: variational inference, Hamiltonian Monte Carlo, enumeration, prediction."""

import io

import pyro
import pyro.distributions as dist
import torch
from _parts import show
from pyro.infer import (
    HMC,
    MCMC,
    NUTS,
    SVI,
    Predictive,
    Trace_ELBO,
    TraceEnum_ELBO,
    config_enumerate,
)
from pyro.infer.autoguide import (
    AutoDelta,
    AutoIAFNormal,
    AutoLowRankMultivariateNormal,
    AutoMultivariateNormal,
    AutoNormal,
    AutoStructured,
)
from pyro.nn import PyroModule, PyroSample

pyro.set_rng_seed(0)
x = torch.randn(20, 2)
y = x @ torch.tensor([1.0, -2.0]) + 0.1 * torch.randn(20)


class Regression(PyroModule):
    def __init__(self):
        super().__init__()
        self.linear = PyroModule[torch.nn.Linear](2, 1)
        self.linear.weight = PyroSample(dist.Normal(0.0, 1.0).expand([1, 2]).to_event(2))

    def forward(self, x, y=None):
        sigma = pyro.sample("sigma", dist.LogNormal(0.0, 1.0))
        mean = self.linear(x).squeeze(-1)
        with pyro.plate("data", x.shape[0]):
            pyro.sample("obs", dist.Normal(mean, sigma), obs=y)
        return mean


for kind in (AutoNormal, AutoMultivariateNormal, AutoLowRankMultivariateNormal, AutoDelta):
    pyro.clear_param_store()
    model = Regression()
    guide = kind(model)
    svi = SVI(model, guide, pyro.optim.ClippedAdam({"lr": 0.03}), Trace_ELBO())
    print(kind.__name__, [f"{svi.step(x, y):.4f}" for _ in range(5)])
predictive = Predictive(model, guide=guide, num_samples=3, return_sites=("obs", "_RETURN"))
for name, value in predictive(x).items():
    show(name, value)
file = io.BytesIO()
torch.save(pyro.get_param_store().get_state(), file)
print("parameters", sorted(pyro.get_param_store().keys()))


def coins(data):
    fairness = pyro.sample("fairness", dist.Beta(10.0, 10.0))
    with pyro.plate("tosses", len(data)):
        pyro.sample("obs", dist.Bernoulli(fairness), obs=data)


tosses = torch.cat([torch.ones(6), torch.zeros(4)])
for kernel in (NUTS(coins), HMC(coins, step_size=0.1, num_steps=4)):
    pyro.set_rng_seed(1)
    chain = MCMC(kernel, num_samples=10, warmup_steps=10, disable_progbar=True)
    chain.run(tosses)
    print(type(kernel).__name__, f"{chain.get_samples()['fairness'].mean().item():.3f}")


@config_enumerate
def mixture(data):
    weights = pyro.sample("weights", dist.Dirichlet(0.5 * torch.ones(2)))
    with pyro.plate("components", 2):
        places = pyro.sample("places", dist.Normal(0.0, 10.0))
    with pyro.plate("data", len(data)):
        assignment = pyro.sample("assignment", dist.Categorical(weights))
        pyro.sample("obs", dist.Normal(places[assignment], 1.0), obs=data)


pyro.clear_param_store()
pyro.set_rng_seed(2)
data = torch.tensor([0.0, 1.0, 10.0, 11.0, 12.0])
guide = AutoDelta(pyro.poutine.block(mixture, expose=["weights", "places"]))
svi = SVI(mixture, guide, pyro.optim.Adam({"lr": 0.1}), TraceEnum_ELBO(max_plate_nesting=1))
print("mixture", [f"{svi.step(data):.4f}" for _ in range(5)])
trace = pyro.poutine.trace(
    pyro.poutine.condition(coins, {"fairness": torch.tensor(0.5)})
).get_trace(tosses)
show("log probability", trace.log_prob_sum())
flow = dist.TransformedDistribution(
    dist.Normal(torch.zeros(2), torch.ones(2)), [dist.transforms.affine_autoregressive(2)]
)
show("flow", flow.log_prob(flow.sample((4,))))
show("von Mises", dist.VonMises(0.0, 2.0).sample((3,)))
show(
    "zero inflated",
    dist.ZeroInflatedPoisson(torch.tensor(2.0), gate=torch.tensor(0.3)).log_prob(
        torch.tensor([0.0, 3.0])
    ),
)
show("kl", torch.distributions.kl_divergence(dist.Normal(0.0, 1.0), dist.Normal(1.0, 2.0)))


def schools(y=None):
    mean, spread = (
        pyro.sample("mean", dist.Normal(0.0, 5.0)),
        pyro.sample("spread", dist.HalfCauchy(5.0)),
    )
    with pyro.plate("schools", 3):
        effect = pyro.sample("effect", dist.Normal(mean, spread))
        return pyro.sample("y", dist.Normal(effect, torch.tensor([15.0, 10.0, 16.0])), obs=y)


print("relations", pyro.infer.inspect.get_model_relations(schools)["sample_sample"])
for kind in (AutoIAFNormal, AutoStructured):
    pyro.clear_param_store()
    pyro.set_rng_seed(0)
    svi = SVI(schools, kind(schools), pyro.optim.Adam({"lr": 0.05}), Trace_ELBO())
    print(kind.__name__, [f"{svi.step(torch.tensor([28.0, 8.0, -3.0])):.3f}" for _ in range(3)])
