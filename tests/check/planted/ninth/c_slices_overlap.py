# Hold-out evaluation of a credit model
import torch
from torch import nn

torch.manual_seed(19)
x = torch.randn(500, 8)
y = (x @ torch.randn(8) + 0.5 * torch.randn(500) > 0).long()
order = torch.randperm(500)
n_train = 400
train_idx = order[:n_train]
test_idx = order[-150:]  # BUG data-leak
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(4):
    model.train()
    for rows in train_idx[torch.randperm(n_train)].split(50):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        print(epoch, (model(x[test_idx]).argmax(1) == y[test_idx]).float().mean().item())
