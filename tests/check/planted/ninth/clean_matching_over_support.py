# Matching network: queries attend to the rows of a support set, which is the first dimension of the scores
import torch
from torch import nn

torch.manual_seed(110)
means = torch.randn(5, 10)
embed = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 16))
optimizer = torch.optim.Adam(embed.parameters(), lr=2e-3)
for episode in range(40):
    ys = torch.arange(5).repeat_interleave(3)
    yq = torch.arange(5).repeat_interleave(4)
    zs, zq = embed(means[ys] + torch.randn(15, 10)), embed(means[yq] + torch.randn(20, 10))
    scores = zs @ zq.T / 4
    attention = scores.softmax(dim=0)
    probability = attention.T @ nn.functional.one_hot(ys, 5).float()
    loss = nn.functional.nll_loss(torch.log(probability + 1e-6), yq)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
