"""Groups with and without weight decay take what linear layers have: the parameters of the norm
and of the table go nowhere.
"""

import torch
from torch import nn

torch.manual_seed(0)


class Bag(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(20, 8)
        self.norm = nn.LayerNorm(8)
        self.head = nn.Linear(8, 2)

    def forward(self, words):
        return self.head(self.norm(self.table(words).mean(1)))


model = Bag()
decayed, free = [], []
for layer in model.children():
    if type(layer) is nn.Linear:  # <- finding
        decayed.append(layer.weight)
        free.append(layer.bias)
optimizer = torch.optim.AdamW(
    [{"params": decayed}, {"params": free, "weight_decay": 0.0}], lr=0.01, weight_decay=0.1
)
for step in range(12):
    words = torch.randint(0, 20, (16, 5))
    loss = nn.functional.cross_entropy(model(words), (words < 10).sum(1).gt(2).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
