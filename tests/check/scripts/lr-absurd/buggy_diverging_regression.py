"""Plain gradient descent on unscaled inputs: the loss grows at every step."""

import torch
from torch import nn


class Price(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 1)

    def forward(self, area_rooms_year):
        return self.layer(area_rooms_year).squeeze(-1)


torch.manual_seed(0)
houses = torch.rand(40, 3) * torch.tensor([150.0, 6.0, 100.0])
prices = houses @ torch.tensor([2.0, 10.0, -0.5])
model = Price()
optimizer = torch.optim.SGD(  # <- finding
    model.parameters(),
    lr=0.01,
)
for epoch in range(6):
    loss = nn.functional.mse_loss(model(houses), prices)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
