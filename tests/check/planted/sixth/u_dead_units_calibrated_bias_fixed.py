import torch
import torch.nn as nn

torch.manual_seed(1)
raw = torch.randint(0, 256, (600, 30)).float()
label = (raw[:, :10].sum(1) > raw[:, 10:20].sum(1)).long()
mean, std = raw[:450].mean(0), raw[:450].std(0)


class SparseNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(30, 64)
        self.out = nn.Linear(64, 2)

    def forward(self, x):
        return self.out(torch.relu(self.hidden(x)))

    @torch.no_grad()
    def calibrate(self, sample, active=0.3):
        """Choose biases so that each unit fires for a share `active` of the sample."""
        pre = sample @ self.hidden.weight.T
        self.hidden.bias.copy_(-pre.abs().quantile(1 - active, dim=0))


net = SparseNet()
net.calibrate((raw[:200] - mean) / std)
x = (raw - mean) / std
opt = torch.optim.SGD(net.parameters(), lr=0.2)
for epoch in range(60):
    opt.zero_grad()
    loss = nn.functional.cross_entropy(net(x[:450]), label[:450])
    loss.backward()
    opt.step()
with torch.no_grad():
    firing = (torch.relu(net.hidden(x)) > 0).any(0).float().mean().item()
    acc = (net(x[450:]).argmax(1) == label[450:]).float().mean().item()
print(f"loss {loss.item():.4f}  units that ever fire {firing:.2f}  test acc {acc:.3f}")
