"""Molecule solubility regressor using the functional API."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Solubility(nn.Module):
    def __init__(self, p=0.5):
        super().__init__()
        self.l1 = nn.Linear(24, 64)
        self.l2 = nn.Linear(64, 64)
        self.out = nn.Linear(64, 1)
        self.p = p

    def forward(self, fp):
        h = F.relu(self.l1(fp))
        h = F.dropout(h, self.p)  # BUG functional-dropout-always-on
        h = F.relu(self.l2(h))
        h = F.dropout(h, self.p)  # BUG functional-dropout-always-on
        return self.out(h).squeeze(-1)


torch.manual_seed(27)
fingerprint = (torch.rand(900, 24) > 0.5).float()
logs = fingerprint[:, :8].sum(1) - 2 * fingerprint[:, 8] * fingerprint[:, 9] - 4
tr, te = torch.arange(700), torch.arange(700, 900)

net = Solubility()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(25):
    net.train()
    for idx in tr[torch.randperm(700)].split(50):
        opt.zero_grad()
        loss = F.mse_loss(net(fingerprint[idx]), logs[idx])
        loss.backward()
        opt.step()

net.eval()
with torch.no_grad():
    runs = [F.mse_loss(net(fingerprint[te]), logs[te]).item() for _ in range(3)]
print("test mse, three evaluations:", [round(r, 4) for r in runs], " variance", round(logs[te].var().item(), 3))
