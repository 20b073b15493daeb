import torch
from torch import nn

torch.manual_seed(22)
x = torch.randn(400, 8)
y = (x[:, :3].prod(1, keepdim=True)).tanh()
model = nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Linear(48, 1))
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=1, factor=0.3)
for epoch in range(10):
    for idx in torch.randperm(320).split(32):
        loss = nn.functional.mse_loss(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        val = nn.functional.mse_loss(model(x[320:]), y[320:]).item()
    sched.step(epoch)  # <- finding
    print(f"epoch {epoch} val {val:.4f} lr {opt.param_groups[0]['lr']:.1e}")
