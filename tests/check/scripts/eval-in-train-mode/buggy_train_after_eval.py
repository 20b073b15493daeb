"""model.train() is called for every epoch, eval() only the first time."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(4, 12)
        self.drop = nn.Dropout(p=0.3)
        self.head = nn.Linear(12, 2)

    def forward(self, x):
        return self.head(self.drop(torch.relu(self.encoder(x))))


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(24, 4), torch.randint(0, 2, (24,))
net.eval()
for epoch in range(3):
    net.train()
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(x[:16]), y[:16])
    loss.backward()
    optimizer.step()
    with torch.inference_mode():
        predicted = net(x[16:]).argmax(1)  # <- finding
        hits = (predicted == y[16:]).float().mean()
    print(epoch, float(hits))
