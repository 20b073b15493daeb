import torch
from torch import nn


class FineTuned(nn.Module):
    """Keeps the stem frozen, whatever the mode of the rest."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Linear(8, 32), nn.ReLU())
        self.body = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, 2))
        self.stem.requires_grad_(False)

    def forward(self, x):
        return self.body(self.stem(x))

    def train(self, mode=True):
        super().train()  # BUG eval-in-train-mode
        for m in self.stem:
            m.training = False
        return self


torch.manual_seed(6)
x = torch.randn(900, 8)
y = (x[:, 0] + x[:, 1] * x[:, 2] > 0).long()
model = FineTuned()
opt = torch.optim.Adam(model.body.parameters(), lr=0.01)
for epoch in range(15):
    model.train()
    for b in torch.randperm(700).split(70):
        opt.zero_grad()
        nn.functional.cross_entropy(model(x[b]), y[b]).backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        out, again = model(x[700:]), model(x[700:])
    if epoch % 5 == 4:
        print(epoch, "val acc", (out.argmax(1) == y[700:]).float().mean().item())
print("evaluation repeats itself:", torch.equal(out, again))
