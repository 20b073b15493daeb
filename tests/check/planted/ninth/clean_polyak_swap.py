# Evaluate with averaged weights, then put the others back
import copy
import torch
from torch import nn

torch.manual_seed(116)
x = torch.randn(300, 8)
y = (x[:, :2].sum(1) > 0).long()
model = nn.Sequential(nn.Linear(8, 24), nn.ReLU(), nn.Dropout(0.1), nn.Linear(24, 2))
average = copy.deepcopy(model).requires_grad_(False)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(4):
    model.train()
    for rows in torch.randperm(240).split(30):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()
        optimizer.step()
        with torch.no_grad():
            for a, p in zip(average.parameters(), model.parameters()):
                a.lerp_(p, 0.1)
    backup = copy.deepcopy(model.state_dict())
    model.load_state_dict(average.state_dict())
    model.eval()
    with torch.no_grad():
        print(epoch, (model(x[240:]).argmax(1) == y[240:]).float().mean().item())
    model.load_state_dict(backup)
