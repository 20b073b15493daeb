import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 8))
optimizer = torch.optim.SGD(encoder.parameters(), lr=0.01)
bank = []
data = torch.randn(512, 16)
for step in range(48):
    x = data[torch.randint(0, 512, (32,))]
    z = F.normalize(encoder(x), dim=1)
    pos = F.normalize(encoder(x + 0.05 * torch.randn_like(x)), dim=1)
    logits = [(z * pos).sum(1, keepdim=True)]
    if bank:
        logits.append(z @ torch.cat(bank[-8:]).detach().T)
    loss = F.cross_entropy(torch.cat(logits, 1) / 0.2, torch.zeros(32, dtype=torch.long))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    bank.append(pos.detach())
    bank = bank[-8:]
print(loss.item())
