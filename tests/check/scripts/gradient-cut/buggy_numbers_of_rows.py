import torch
from torch import nn

torch.manual_seed(25)


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.body(x).squeeze(-1)


def hinge(scores, y):
    return torch.clamp(1 - y * scores, min=0)


x = torch.randn(400, 8)
y = torch.sign(x[:, 0] * x[:, 1] + 0.3 * x[:, 2])
model = Scorer()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(15):
    for idx in torch.randperm(400).split(40):
        scores = model(x[idx])
        losses = []
        for s, t in zip(scores, y[idx]):
            losses.append(hinge(s, t).item())  # <- finding
        loss = torch.tensor(losses, requires_grad=True).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        acc = (torch.sign(model(x)) == y).float().mean().item()
    print(epoch, loss.item(), acc)
