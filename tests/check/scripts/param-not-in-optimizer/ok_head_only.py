"""Only the head of a model is given to the optimizer; a backbone in eval mode, and one whose weights were loaded, stay as they are."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
        self.fc = nn.Linear(8, 2)

    def forward(self, x):
        return self.fc(self.body(x))


def train(forward, parameters):
    optimizer = torch.optim.SGD(parameters, lr=0.1)
    for _ in range(4):
        x, y = torch.randn(8, 4), torch.randint(0, 2, (8,))
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(forward(x), y)
        loss.backward()
        optimizer.step()
    return loss.item()


torch.manual_seed(0)
net = Net()
print(train(net, net.fc.parameters()))

backbone, head = nn.Linear(4, 8).eval(), nn.Linear(8, 2)
print(train(lambda x: head(backbone(x)), head.parameters()))

loaded, head = nn.Linear(4, 8), nn.Linear(8, 2)
loaded.load_state_dict(backbone.state_dict())
print(train(lambda x: head(loaded(x)), head.parameters()))

frozen, head = nn.Linear(4, 8).requires_grad_(False), nn.Linear(8, 2)
print(train(lambda x: head(frozen(x)), head.parameters()))
