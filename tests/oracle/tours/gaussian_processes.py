"""gpytorch, linear_operator and botorch: exact and variational processes, structured matrices, a
step of Bayesian optimization.
"""

import io
import math

import botorch
import gpytorch
import linear_operator
import torch
from _parts import show
from botorch.acquisition import LogExpectedImprovement, qExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf

torch.manual_seed(0)
x = torch.linspace(0, 1, 30)
y = torch.sin(x * 2 * math.pi) + 0.1 * torch.randn(30)


class Exact(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood):
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


likelihood = gpytorch.likelihoods.GaussianLikelihood()
model = Exact(x, y, likelihood)
objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
optimizer = torch.optim.Adam(model.parameters(), 0.1)
for step in range(10):
    optimizer.zero_grad()
    loss = -objective(model(x), y)
    loss.backward()
    optimizer.step()
    show(f"loss {step}", loss)
model.eval(), likelihood.eval()
with torch.no_grad(), gpytorch.settings.fast_pred_var():
    predicted = likelihood(model(torch.linspace(0, 1, 7)))
    show("mean", predicted.mean)
    show("variance", predicted.variance)
    show("upper", predicted.confidence_region()[1])
    show("drawn", predicted.sample(torch.Size([2])))
file = io.BytesIO()
torch.save(model.state_dict(), file)
file.seek(0)
model.load_state_dict(torch.load(file))
show("length", model.covar_module.base_kernel.lengthscale)


class Variational(gpytorch.models.ApproximateGP):
    def __init__(self, points):
        strategy = gpytorch.variational.VariationalStrategy(
            self,
            points,
            gpytorch.variational.CholeskyVariationalDistribution(points.size(0)),
            learn_inducing_locations=True,
        )
        super().__init__(strategy)
        self.mean_module = gpytorch.means.ZeroMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(2.5))

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


sparse, likelihood = (
    Variational(x[::6].unsqueeze(-1).clone()),
    gpytorch.likelihoods.BernoulliLikelihood(),
)
bound = gpytorch.mlls.VariationalELBO(likelihood, sparse, 30)
optimizer = torch.optim.Adam([*sparse.parameters(), *likelihood.parameters()], 0.05)
for step in range(5):
    optimizer.zero_grad()
    loss = -bound(sparse(x.unsqueeze(-1)), (y > 0).float())
    loss.backward()
    optimizer.step()
    show(f"bound {step}", loss)

root = torch.randn(5, 5, dtype=torch.float64)
matrix = linear_operator.operators.AddedDiagLinearOperator(
    linear_operator.operators.RootLinearOperator(root),
    linear_operator.operators.DiagLinearOperator(torch.full((5,), 0.5, dtype=torch.float64)),
)
show("solved", matrix.solve(torch.ones(5, 1, dtype=torch.float64)))
show("logdet", matrix.logdet())
kron = linear_operator.operators.KroneckerProductLinearOperator(
    linear_operator.operators.DenseLinearOperator(torch.eye(2) * 2),
    linear_operator.operators.ToeplitzLinearOperator(torch.tensor([2.0, 1.0])),
)
show("product", kron @ torch.arange(4.0).unsqueeze(-1))

inputs = torch.rand(10, 2, dtype=torch.float64)
outputs = 1 - (inputs - 0.5).norm(dim=-1, keepdim=True)
surrogate = SingleTaskGP(inputs, outputs)
fit_gpytorch_mll(gpytorch.mlls.ExactMarginalLogLikelihood(surrogate.likelihood, surrogate))
acquisition = LogExpectedImprovement(surrogate, best_f=outputs.max())
bounds = torch.stack([torch.zeros(2), torch.ones(2)]).double()
candidate, value = optimize_acqf(acquisition, bounds, q=1, num_restarts=2, raw_samples=8)
print("candidate", [round(number, 2) for number in candidate[0].tolist()], f"{value.item():.2f}")
sampler = botorch.sampling.SobolQMCNormalSampler(torch.Size([16]), seed=1)
print("several", f"{qExpectedImprovement(surrogate, 0.9, sampler)(inputs[:2]).item():.3f}")
