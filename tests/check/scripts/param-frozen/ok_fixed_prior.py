import torch
from torch import nn


class Vae(nn.Module):
    """The prior is given: mean 0 and log-variance 0."""

    def __init__(self, d=8, z=3):
        super().__init__()
        self.enc, self.dec = nn.Linear(d, 2 * z), nn.Linear(z, d)
        self.register_buffer("prior_log_var", torch.zeros(z))
        self.register_buffer("shift", torch.zeros(d))

    def forward(self, x):
        mean, log_var = self.enc(x + self.shift).chunk(2, -1)
        z = mean + torch.randn_like(mean) * (0.5 * log_var).exp()
        kl = 0.5 * (self.prior_log_var - log_var + (log_var.exp() + mean.square()) / self.prior_log_var.exp() - 1).sum(1).mean()
        return nn.functional.mse_loss(self.dec(z), x) + 0.01 * kl


torch.manual_seed(0)
net = Vae()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(10):
    loss = net(torch.randn(32, 8))
    opt.zero_grad()
    loss.backward()
    opt.step()
