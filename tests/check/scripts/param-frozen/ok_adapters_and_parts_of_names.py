"""The adapters are freed again; of the decoder all layers are frozen by a part of their names, which stands at the end of words alike."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.self_attn, self.cross_attn = nn.Linear(4, 4), nn.Linear(4, 4)
        self.conv1, self.text_conv = nn.Linear(4, 4), nn.Linear(4, 4)
        self.adapter = nn.Linear(4, 4)
        self.head = nn.Linear(4, 1)

    def forward(self, x):
        for layer in (self.self_attn, self.cross_attn, self.conv1, self.text_conv, self.adapter):
            x = x + torch.tanh(layer(x))
        return self.head(x)


torch.manual_seed(0)
model = Net()
for name, p in model.named_parameters():
    if "attn" in name or "conv" in name:
        p.requires_grad_(False)
for p in model.adapter.parameters():
    p.requires_grad_(True)
optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=0.01)
for _ in range(5):
    x = torch.randn(16, 4)
    loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
