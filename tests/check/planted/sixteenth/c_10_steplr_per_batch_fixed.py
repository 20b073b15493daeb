import torch
from torch import nn
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
CFG = dict(epochs=12, batch_size=20, lr=0.05, lr_decay_epochs=5, gamma=0.1)

inputs = torch.randn(400, 10)
targets = (inputs[:, 0] * inputs[:, 1] > 0).long()
loader = DataLoader(TensorDataset(inputs, targets), batch_size=CFG["batch_size"], shuffle=True)

model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=CFG["lr"], momentum=0.9)
scheduler = StepLR(optimizer, step_size=CFG["lr_decay_epochs"], gamma=CFG["gamma"])
criterion = nn.CrossEntropyLoss()


def run_epoch():
    total = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


for epoch in range(CFG["epochs"]):
    avg = run_epoch()
    scheduler.step()
    print(f"epoch {epoch + 1:2d} loss {avg:.4f} lr {optimizer.param_groups[0]['lr']:.2e}")
