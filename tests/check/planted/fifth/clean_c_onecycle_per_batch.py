"""OneCycleLR is stepped after every batch, as it should be; the rate is large in the middle on purpose."""
import torch
from torch import nn
from torch.optim.lr_scheduler import OneCycleLR
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(8)
x = torch.randn(640, 9)
y = (x[:, 0].abs() + x[:, 1] > 0.7).long()
loader = DataLoader(TensorDataset(x[:512], y[:512]), batch_size=32, shuffle=True)
net = nn.Sequential(nn.Linear(9, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 2))
EPOCHS = 15
opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-3)
sched = OneCycleLR(opt, max_lr=0.5, epochs=EPOCHS, steps_per_epoch=len(loader))
for epoch in range(EPOCHS):
    net.train()
    for xb, yb in loader:
        opt.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(net(xb), yb)
        loss.backward()
        opt.step()
        sched.step()
    net.eval()
    with torch.no_grad():
        acc = (net(x[512:]).argmax(1) == y[512:]).float().mean().item()
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1} lr {sched.get_last_lr()[0]:.4f} loss {loss.item():.4f} val {acc:.3f}")
