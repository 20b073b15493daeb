# Gaussian process regression: hyperparameters by marginal likelihood; (n,1) against (1,n) is meant
import torch

torch.manual_seed(0)
x = torch.linspace(0, 5, 40, dtype=torch.float64)
y = torch.sin(x) + 0.1 * torch.randn(40, dtype=torch.float64)
log_length = torch.zeros((), dtype=torch.float64, requires_grad=True)
log_noise = torch.tensor(-2.0, dtype=torch.float64, requires_grad=True)
optimizer = torch.optim.Adam([log_length, log_noise], lr=0.05)
for step in range(40):
    optimizer.zero_grad()
    squared = (x[:, None] - x[None, :]).pow(2)
    K = torch.exp(-0.5 * squared / torch.exp(2 * log_length)) + torch.exp(log_noise) * torch.eye(40, dtype=torch.float64)
    L = torch.linalg.cholesky(K)
    alpha = torch.cholesky_solve(y[:, None], L)[:, 0]
    loss = 0.5 * (y @ alpha) + L.diagonal().log().sum()
    loss.backward()
    optimizer.step()
print(loss.item(), log_length.exp().item())
