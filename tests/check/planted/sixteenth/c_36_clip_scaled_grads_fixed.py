import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
device = "cpu"
x = torch.randn(400, 16)
y = x[:, :4].argmax(1)
loader = DataLoader(TensorDataset(x, y), batch_size=40, shuffle=True)

model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 4)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
scaler = torch.amp.GradScaler(device)
loss_fn = nn.CrossEntropyLoss()


def train_step(xb, yb):
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast(device_type=device, dtype=torch.float16):
        out = model(xb)
    loss = loss_fn(out.float(), yb)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    return loss.item()


start = [p.detach().clone() for p in model.parameters()]
for epoch in range(6):
    avg = sum(train_step(a, b) for a, b in loader) / len(loader)
    print(f"epoch {epoch} loss {avg:.4f}")
moved = sum((p.detach() - s).norm().item() for p, s in zip(model.parameters(), start))
print(f"parameters moved {moved:.6f}")
