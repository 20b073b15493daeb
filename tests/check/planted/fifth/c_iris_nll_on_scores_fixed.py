from torch import nn
import torch

torch.manual_seed(0)
centres = torch.tensor([[0.0, 0.0, 1.0], [1.5, 0.5, 0.0], [2.0, 2.0, 1.0]])
labels = torch.arange(3).repeat(100)
flowers = centres[labels] + 0.6 * torch.randn(300, 3)
shuffle = torch.randperm(300)
flowers, labels = flowers[shuffle], labels[shuffle]
xa, ya, xb, yb = flowers[:210], labels[:210], flowers[210:], labels[210:]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(3, 20)
        self.out = nn.Linear(20, 3)

    def forward(self, x):
        x = torch.relu(self.hidden(x))
        return torch.log_softmax(self.out(x), dim=1)


net = Net()
criterion = nn.NLLLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
for epoch in range(60):
    optimizer.zero_grad()
    loss = criterion(net(xa), ya)
    loss.backward()
    optimizer.step()
    if epoch % 12 == 11:
        with torch.no_grad():
            acc = (net(xb).argmax(1) == yb).float().mean().item()
        print(f"{epoch + 1:3d} loss {loss.item():12.3f} acc {acc:.3f}")
