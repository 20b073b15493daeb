import torch
import torch.nn as nn

torch.manual_seed(23)


def init_weights(m):
    if isinstance(m, nn.Linear):
        nn.init.xavier_uniform_(m.weight)
        nn.init.zeros_(m.bias)


class FaultDetector(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(16, 64)
        self.mid = nn.Linear(64, 64)
        self.cls = nn.Linear(64, 4)

    def forward(self, x):
        return self.cls(torch.tanh(self.mid(torch.tanh(self.enc(x)))))


centers = 1.5 * torch.randn(4, 16)
y = torch.arange(800) % 4
x = centers[y] + torch.randn(800, 16)
model = FaultDetector()
model.apply(init_weights)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for epoch in range(10):
    for idx in torch.randperm(800).split(80):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x[idx]), y[idx])
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
acc = (model(x).argmax(1) == y).float().mean().item()
print("accuracy", acc)
