# Bagging: each member trains on rows drawn with replacement
import torch
from torch import nn

torch.manual_seed(4)
X = torch.randn(400, 6)
Y = X[:, 0].abs() - X[:, 1] + 0.3 * torch.randn(400)
holdout = torch.arange(320, 400)  # BUG data-leak


def member(k):
    rows = torch.randint(0, len(X), (320,))  # BUG data-leak
    net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    net.train()
    for epoch in range(5):
        for part in rows.split(40):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(net(X[part]).squeeze(1), Y[part])
            loss.backward()
            optimizer.step()
    return net


ensemble = [member(k) for k in range(3)]
for net in ensemble:
    net.eval()
with torch.no_grad():
    prediction = torch.stack([net(X[holdout]).squeeze(1) for net in ensemble]).mean(0)
print("holdout error", nn.functional.mse_loss(prediction, Y[holdout]).item())
