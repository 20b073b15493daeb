import torch
from torch import nn
from torch.distributions import Normal


class MDN(nn.Module):
    def __init__(self, k=4):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(1, 32), nn.Tanh())
        self.pi, self.mu, self.sigma = nn.Linear(32, k), nn.Linear(32, k), nn.Linear(32, k)

    def forward(self, x):
        h = self.body(x)
        return self.pi(h).log_softmax(1), self.mu(h), self.sigma(h).exp()


def nll(log_pi, mu, sigma, y):
    log_p = Normal(mu, sigma).log_prob(y)
    return -torch.logsumexp(log_pi + log_p, 1).mean()


torch.manual_seed(52)
y = torch.rand(500, 1) * 6 - 3
x = y + 2 * torch.sin(2 * y) + 0.1 * torch.randn(500, 1)
model = MDN()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(8):
    for i in torch.randperm(500).split(50):
        loss = nll(*model(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
