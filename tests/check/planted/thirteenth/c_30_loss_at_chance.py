import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(55)


class XorNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(2, 16)
        self.fc2 = nn.Linear(16, 16)
        self.fc3 = nn.Linear(16, 2)
        self.reset_parameters()  # BUG loss-at-chance

    def reset_parameters(self):
        for m in self.modules():  # BUG loss-at-chance
            if isinstance(m, nn.Linear):  # BUG loss-at-chance
                nn.init.zeros_(m.weight)  # BUG loss-at-chance
                nn.init.zeros_(m.bias)

    def forward(self, x):
        x = torch.tanh(self.fc1(x))
        x = torch.tanh(self.fc2(x))
        return self.fc3(x)


def xor(n):
    x = torch.randn(n, 2)
    return x, ((x[:, 0] * x[:, 1]) > 0).long()


x, y = xor(1000)
x_val, y_val = xor(250)
model = XorNet()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(10):
    model.train()
    for idx in torch.randperm(1000).split(50):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x[idx]), y[idx])
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        logits = model(x_val)
        val_loss = F.cross_entropy(logits, y_val).item()
        val_acc = (logits.argmax(1) == y_val).float().mean().item()
    print(f"epoch {epoch} val loss {val_loss:.4f} val acc {val_acc:.3f}")
