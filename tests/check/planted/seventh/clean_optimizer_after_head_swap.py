import torch
from torch import nn


class Backbone(nn.Module):
    def __init__(self, n_out):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(8, 24), nn.ReLU())
        self.fc = nn.Linear(24, n_out)

    def forward(self, x):
        return self.fc(self.f(x))


torch.manual_seed(12)
model = Backbone(100)
model.fc = nn.Linear(model.fc.in_features, 3)         # swapped before the optimizer is made
opt = torch.optim.AdamW([
    {"params": model.f.parameters(), "lr": 1e-3},
    {"params": model.fc.parameters(), "lr": 1e-2},
])
x = torch.randn(450, 8)
y = (x @ torch.randn(8, 3)).argmax(1)
for epoch in range(12):
    for b in torch.randperm(450).split(45):
        loss = nn.functional.cross_entropy(model(x[b]), y[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 4 == 3:
        print("epoch", epoch + 1, "loss", loss.item())
