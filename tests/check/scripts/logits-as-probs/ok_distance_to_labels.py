import torch
from torch import nn


def predict_probability(net, x):
    with torch.no_grad():
        return net(x).squeeze(1).sigmoid()


torch.manual_seed(0)
x = torch.randn(200, 4)
y = (x[:, 0] > 0).float()
net = nn.Linear(4, 1)
opt = torch.optim.Adam(net.parameters(), lr=0.1)
for step in range(40):
    opt.zero_grad()
    nn.functional.binary_cross_entropy_with_logits(net(x[:150]).squeeze(1), y[:150]).backward()
    opt.step()
p = predict_probability(net, x[150:])
print("distance", ((p - y[150:]) ** 2).mean().item())
