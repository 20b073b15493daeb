"""A topic model's loss: KL divergence between two discrete distributions by hand."""

import torch
from torch import nn

torch.manual_seed(22)
docs = torch.rand(100, 30)
topic_of = torch.zeros(100, 5)
topic_of[torch.arange(100), docs[:, :5].argmax(1)] = 1.0
target = topic_of  # BUG nan-born


def kl(p, q):
    return (p * (p.log() - q.log())).sum(-1).mean()  # BUG nan-born


net = nn.Sequential(nn.Linear(30, 32), nn.ReLU(), nn.Linear(32, 5), nn.Softmax(dim=-1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(20):
    q = net(docs)
    loss = kl(target, q)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("kl", loss.item())
