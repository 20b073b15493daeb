"""The nucleus is cut out of scores that were never turned into probabilities."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
torch.manual_seed(1)
model = nn.Sequential(nn.Embedding(20, 16), nn.Linear(16, 20))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
seq = torch.randint(0, 20, (32, 10))
for step in range(40):
    loss = F.cross_entropy(model(seq[:, :-1]).flatten(0, 1), (seq[:, :-1].flatten() + 1) % 20)
    opt.zero_grad()
    loss.backward()
    opt.step()


def nucleus(scores, p=0.9):
    s, idx = scores.sort(descending=True)
    keep = s.cumsum(-1) <= p  # <- finding
    keep[..., 0] = True
    masked = s.masked_fill(~keep, float("-inf")).softmax(-1)
    return idx.gather(-1, torch.multinomial(masked, 1))


with torch.no_grad():
    out = nucleus(model(seq[:, 0]))
print(out.shape)
