import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(31)
EPOCHS, WARMUP = 10, 20


class Net(nn.Module):
    """Features, a domain head behind a gradient reversal, and a label head."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(12, 32), nn.ReLU())
        self.label = nn.Linear(32, 2)
        self.aux = nn.Linear(32, 4)

    def forward(self, x):
        h = self.features(x)
        return self.label(h), self.aux(h)


def aux_weight(epoch):
    return min(1, epoch // WARMUP)  # BUG setting-without-effect


net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
w1, w2 = torch.randn(12, 2), torch.randn(12, 4)
for epoch in range(EPOCHS):
    for _ in range(15):
        x = torch.randn(64, 12)
        y, a = (x @ w1).argmax(1), (x @ w2).argmax(1)
        logits, aux = net(x)
        main_loss = F.cross_entropy(logits, y)
        aux_loss = F.cross_entropy(aux, a)
        loss = main_loss + aux_weight(epoch) * aux_loss  # BUG setting-without-effect
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, main_loss.item(), aux_loss.item())
