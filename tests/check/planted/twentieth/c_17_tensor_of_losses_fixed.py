"""Three tasks from one trunk: regression of age, class of income, class of city."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(14)


class MultiTask(nn.Module):
    def __init__(self, n_features=9, width=32):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Linear(n_features, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()
        )
        self.age = nn.Linear(width, 1)
        self.income = nn.Linear(width, 3)
        self.city = nn.Linear(width, 4)

    def forward(self, x):
        h = self.trunk(x)
        return self.age(h).squeeze(1), self.income(h), self.city(h)


def people(n):
    x = torch.randn(n, 9)
    age = x[:, :3].sum(1) + 0.1 * torch.randn(n)
    income = (x[:, 3] > 0).long() + (x[:, 4] > 0).long()
    city = (x[:, 5] > 0).long() * 2 + (x[:, 6] > 0).long()
    return TensorDataset(x, age, income, city)


loader = DataLoader(people(320), batch_size=32, shuffle=True)
net = MultiTask()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
weights = torch.tensor([1.0, 0.5, 0.5])

for epoch in range(3):
    for x, age, income, city in loader:
        age_hat, income_hat, city_hat = net(x)
        losses = [
            F.mse_loss(age_hat, age),
            F.cross_entropy(income_hat, income),
            F.cross_entropy(city_hat, city),
        ]
        stacked = torch.stack(losses)
        total = (weights * stacked).sum()
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
    print(epoch, [round(v, 3) for v in stacked.tolist()])
