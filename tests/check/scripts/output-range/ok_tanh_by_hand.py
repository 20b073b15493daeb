import torch
from torch import nn

torch.manual_seed(0)
data = 5 + 4 * torch.randn(256, 3)
coder = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 2))
decoder = nn.Sequential(
    nn.Linear(2, 16),
    nn.ReLU(),
    nn.Linear(16, 3),
)
optimizer = torch.optim.Adam([*coder.parameters(), *decoder.parameters()], lr=1e-3)
for step in range(20):
    rows = torch.randint(0, 256, (64,))
    batch = data[rows]
    error = decoder(coder(batch)) - batch
    loss = (error ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
