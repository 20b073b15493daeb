"""Keys that the model does not have are left out, and these are all."""

import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features, self.fc = nn.Linear(4, 8), nn.Linear(8, 2)

    def forward(self, x):
        return self.fc(self.features(x).relu())


pretrained = {f"backbone.{k}": torch.randn_like(v) for k, v in Net().state_dict().items()}
model = Net()
own = model.state_dict()
found = {k: v for k, v in pretrained.items() if k in own}  # <- finding
own.update(found)
model.load_state_dict(own)
x = torch.randn(16, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), (x[:, 0] > 0).long())
    loss.backward()
    optimizer.step()
print(loss.item())
