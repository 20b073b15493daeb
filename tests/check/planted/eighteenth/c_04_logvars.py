import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(53)


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(10, 48), nn.ReLU())
        self.age = nn.Linear(48, 1)
        self.group = nn.Linear(48, 3)

    def forward(self, x):
        h = self.trunk(x)
        return self.age(h).squeeze(1), self.group(h)


class UncertaintyLoss(nn.Module):
    def __init__(self, tasks):
        super().__init__()
        self.log_vars = nn.Parameter(torch.zeros(tasks))

    def forward(self, losses):
        losses = torch.stack(losses)
        return (torch.exp(-self.log_vars) * losses + self.log_vars).sum()


model = Shared()
weigh = UncertaintyLoss(2)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)  # BUG param-not-in-optimizer
wa, wg = torch.randn(10), torch.randn(10, 3)
for step in range(200):
    x = torch.randn(64, 10)
    age_target = 40 + 10 * (x @ wa)
    group_target = (x @ wg).argmax(1)
    age, group = model(x)
    loss = weigh([F.mse_loss(age, age_target), F.cross_entropy(group, group_target)])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 39:
        print(step, loss.item(), weigh.log_vars.tolist())
