import torch
import torch.nn as nn

torch.manual_seed(0)

G = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
og, od = torch.optim.Adam(G.parameters(), lr=2e-4), torch.optim.Adam(D.parameters(), lr=2e-4)
bce = nn.BCEWithLogitsLoss()
for it in range(30):
    real = torch.randn(32, 2) + 2
    fake = G(torch.randn(32, 8))
    d = bce(D(real), torch.ones(32, 1)) + bce(D(fake.detach()), torch.zeros(32, 1))
    od.zero_grad()
    d.backward()
    od.step()
    g = bce(D(fake), torch.ones(32, 1))
    og.zero_grad()
    g.backward()
    og.step()
