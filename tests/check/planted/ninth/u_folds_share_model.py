# Cross-validation in which the model is made once
import torch
from torch import nn

torch.manual_seed(39)
x = torch.randn(250, 9)
y = (x[:, 0] - x[:, 3] > 0).long()
folds = torch.randperm(250).chunk(5)


def make():
    model = nn.Sequential(nn.Linear(9, 24), nn.ReLU(), nn.Linear(24, 2))
    return model, torch.optim.Adam(model.parameters(), lr=5e-3)


model, optimizer = make()  # BUG data-leak
accuracies = []
for k, held_out in enumerate(folds):
    rows = torch.cat([fold for j, fold in enumerate(folds) if j != k])
    model.train()
    for epoch in range(3):
        for part in rows[torch.randperm(len(rows))].split(40):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x[part]), y[part]).backward()
            optimizer.step()
    model.eval()
    with torch.no_grad():
        accuracies.append((model(x[held_out]).argmax(1) == y[held_out]).float().mean().item())
print(sum(accuracies) / len(accuracies))
