# Two tasks weighted by learned variances
import torch
from torch import nn


class Multi(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(6, 32), nn.ReLU())
        self.regress, self.classify = nn.Linear(32, 1), nn.Linear(32, 3)
        self.log_var = nn.Parameter(torch.zeros(2))

    def forward(self, x):
        h = self.trunk(x)
        return self.regress(h).squeeze(-1), self.classify(h)


torch.manual_seed(137)
x = torch.randn(300, 6)
value, kind = x[:, 0] * x[:, 1], x[:, :3].argmax(1)
model = Multi()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(5):
    for rows in torch.randperm(300).split(50):
        v, k = model(x[rows])
        losses = torch.stack([(v - value[rows]).pow(2).mean(), nn.functional.cross_entropy(k, kind[rows])])
        loss = (torch.exp(-model.log_var) * losses + model.log_var).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
