import torch
from torch import nn

torch.manual_seed(8)
# a pretend pretrained encoder: frozen and in evaluation mode while the probe trains
encoder = nn.Sequential(nn.Linear(10, 64), nn.BatchNorm1d(64), nn.ReLU())
with torch.no_grad():
    for _ in range(30):
        encoder(torch.randn(64, 10))
encoder.eval().requires_grad_(False)
probe = nn.Linear(64, 2)
opt = torch.optim.Adam(probe.parameters(), lr=0.01)

x = torch.randn(500, 10)
y = (x[:, 0] > x[:, 1]).long()
for epoch in range(10):
    probe.train()
    for b in torch.randperm(400).split(40):
        with torch.no_grad():
            z = encoder(x[b])
        loss = nn.functional.cross_entropy(probe(z), y[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
probe.eval()
with torch.no_grad():
    acc = (probe(encoder(x[400:])).argmax(1) == y[400:]).float().mean()
print("loss", loss.item(), "test accuracy", acc.item())
