"""A checkpoint of the wrapped model is loaded into the model itself."""

import torch
from torch import nn

torch.manual_seed(0)


class Pretrained(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder, self.head = encoder, nn.Linear(8, 3)

    def forward(self, x):
        return self.head(self.encoder(x))


def encoder():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8))


state = Pretrained(encoder()).state_dict()
backbone = encoder()
backbone.load_state_dict(state, strict=False)  # <- finding
x = torch.randn(16, 4)
head = nn.Linear(8, 2)
optimizer = torch.optim.SGD([*backbone.parameters(), *head.parameters()], lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(head(backbone(x)), (x[:, 0] > 0).long())
    loss.backward()
    optimizer.step()
print(loss.item())
