# Sigmoid inside of the model, but the loss is BCELoss, which wants probabilities.
import torch
from torch import nn

torch.manual_seed(2)
X = torch.randn(700, 6)
Y = torch.stack([(X[:, 0] > 0), (X[:, 1] + X[:, 2] > 0.5), (X[:, 3] * X[:, 4] > 0)], 1).float()


class MultiLabel(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 48), nn.ReLU(), nn.Linear(48, 3), nn.Sigmoid())

    def forward(self, x):
        return self.layers(x)


net, crit = MultiLabel(), nn.BCELoss()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(20):
    order = torch.randperm(600)
    total = 0.0
    for idx in order.split(64):
        opt.zero_grad()
        loss = crit(net(X[idx]), Y[idx])
        loss.backward()
        opt.step()
        total += loss.item() * len(idx)
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1} loss {total / 600:.4f}")
with torch.no_grad():
    hit = ((net(X[600:]) > 0.5).float() == Y[600:]).float().mean(0)
print("accuracy per label", [round(v, 3) for v in hit.tolist()])
