# Fine-tuning: the trunk comes from an earlier task and is frozen; adapter and classifier are new
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU())
        self.adapter = nn.Linear(16, 16)
        self.classifier = nn.Linear(16, 3)

    def forward(self, x):
        h = self.trunk(x)
        return self.classifier(torch.relu(self.adapter(h)))


torch.manual_seed(26)
model = Net()
state = {k: v.clone() for k, v in model.trunk.state_dict().items()}  # from an earlier task
model.trunk.load_state_dict(state)
for name, parameter in model.named_parameters():
    if "classifier" not in name:  # BUG param-frozen
        parameter.requires_grad = False  # BUG param-frozen
optimizer = torch.optim.Adam((p for p in model.parameters() if p.requires_grad), lr=0.01)
x = torch.randn(300, 10)
y = (x[:, 0] > 0.4).long() + (x[:, 1] > 0).long()
for epoch in range(6):
    for i in range(0, 300, 50):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x[i:i + 50]), y[i:i + 50])
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
