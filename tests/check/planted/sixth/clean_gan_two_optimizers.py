import torch
import torch.nn as nn

torch.manual_seed(5)
G = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
D = nn.Sequential(nn.Linear(1, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
og = torch.optim.Adam(G.parameters(), lr=2e-3, betas=(0.5, 0.9))
od = torch.optim.Adam(D.parameters(), lr=2e-3, betas=(0.5, 0.9))
bce = nn.BCEWithLogitsLoss()
one, zero = torch.ones(64, 1), torch.zeros(64, 1)
for it in range(350):
    real = 3 + 0.5 * torch.randn(64, 1)
    fake = G(torch.randn(64, 4))
    # discriminator sees detached fakes
    ld = bce(D(real), one) + bce(D(fake.detach()), zero)
    od.zero_grad()
    ld.backward()
    od.step()
    # generator: gradients also reach D, but od.zero_grad() clears them before D's next step
    lg = bce(D(fake), one)
    og.zero_grad()
    lg.backward()
    og.step()
with torch.no_grad():
    s = G(torch.randn(1000, 4))
print("fake mean %.2f std %.2f (real 3.00, 0.50)" % (s.mean().item(), s.std().item()))
