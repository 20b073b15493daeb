# Broadcasting (N, 1) with (N,) is what a pairwise ranking loss needs
import torch
from torch import nn


def pairwise_rank_loss(score, rel):
    diff = score.unsqueeze(1) - score            # (N, N)
    better = (rel.unsqueeze(1) > rel).float()
    return (nn.functional.softplus(-diff) * better).sum() / better.sum()


torch.manual_seed(7)
docs = torch.randn(300, 8)
relevance = docs[:, 0] + 0.5 * docs[:, 4]
ranker = nn.Linear(8, 1)
opt = torch.optim.Adam(ranker.parameters(), lr=0.03)
for epoch in range(10):
    for b in torch.randperm(300).split(50):
        s = ranker(docs[b]).squeeze(1)
        loss = pairwise_rank_loss(s, relevance[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 3 == 0:
        print("epoch", epoch, "loss", loss.item())
