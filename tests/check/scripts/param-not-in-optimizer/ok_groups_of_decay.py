"""Groups with and without weight decay that have all parameters; and those of a head alone, with
the body frozen.
"""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Embedding(20, 8), nn.LayerNorm(8), nn.Flatten(), nn.Linear(40, 2))
decayed, free = [], []
for p in model.parameters():
    if p.ndim > 1:
        decayed.append(p)
    else:
        free.append(p)
groups = [{"params": decayed, "weight_decay": 0.1}, {"params": free, "weight_decay": 0.0}]
whole = torch.optim.AdamW(groups, lr=0.01)


def train(optimizer):
    for step in range(8):
        words = torch.randint(0, 20, (16, 5))
        loss = nn.functional.cross_entropy(model(words), (words < 10).sum(1).gt(2).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


print(train(whole))
for part in model[:3]:
    part.requires_grad_(False)
head = model[3]
groups = [{"params": [head.weight], "weight_decay": 0.1}, {"params": [head.bias], "weight_decay": 0}]
print(train(torch.optim.AdamW(groups, lr=0.01)))


class Probed(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Embedding(20, 8), nn.Flatten())
        self.head = nn.Linear(40, 2)

    def forward(self, words):
        return self.head(self.body(words))


model = Probed()
decayed, free = [], []
for name, p in model.named_parameters():
    if name.startswith("head"):
        (decayed if p.ndim > 1 else free).append(p)
groups = [{"params": decayed, "weight_decay": 0.1}, {"params": free, "weight_decay": 0.0}]
print(train(torch.optim.AdamW(groups, lr=0.01)))
