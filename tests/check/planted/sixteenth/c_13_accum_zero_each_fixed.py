import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(11)
accum_steps = 4
x = torch.randn(640, 12)
w = torch.randn(12, 1)
y = x @ w + 0.8 * torch.randn(640, 1)
loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True, drop_last=True)

model = nn.Linear(12, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
mse = nn.MSELoss()


def grad_norm():
    return sum(p.grad.pow(2).sum() for p in model.parameters()).sqrt().item()


for epoch in range(4):
    norms, total = [], 0.0
    optimizer.zero_grad()
    for i, (xb, yb) in enumerate(loader):
        loss = mse(model(xb), yb) / accum_steps
        loss.backward()
        total += loss.item() * accum_steps
        if (i + 1) % accum_steps == 0:
            norms.append(grad_norm())
            optimizer.step()
            optimizer.zero_grad()
    print(f"epoch {epoch} loss {total / len(loader):.4f} grad norm {sum(norms) / len(norms):.4f}")
