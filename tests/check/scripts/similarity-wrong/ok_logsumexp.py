import torch
from torch import nn

torch.manual_seed(0)
data = torch.randn(200, 8)
encoder = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 12))
optimizer = torch.optim.Adam(encoder.parameters(), lr=2e-3)


def nt_xent(z, tau=0.2):
    z = z / z.norm(dim=1, keepdim=True)
    sim = (torch.mm(z, z.t()) / tau).masked_fill(torch.eye(len(z), dtype=torch.bool), -1e9)
    half = len(z) // 2
    partner = torch.cat([torch.arange(half, len(z)), torch.arange(half)])
    positive = sim[torch.arange(len(z)), partner]
    return (torch.logsumexp(sim, dim=1) - positive).mean()


for step in range(20):
    rows = data[torch.randint(0, 200, (24,))]
    views = torch.cat([rows + 0.1 * torch.randn_like(rows) for _ in range(2)])
    loss = nt_xent(encoder(views))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
