"""The schedule is replayed after its state was loaded, and once per batch."""

import io

import torch
from torch import nn

torch.manual_seed(0)
X = torch.randn(512, 8)
Y = torch.sin(X @ torch.randn(8, 1))
EPOCHS, STOP, BATCH = 40, 8, 32


def fresh():
    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 1))
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    sched = torch.optim.lr_scheduler.ExponentialLR(opt, gamma=0.93)
    return net, opt, sched


def run(net, opt, sched, first, last):
    for epoch in range(first, last):
        for idx in torch.randperm(512).split(BATCH):
            loss = nn.functional.mse_loss(net(X[idx]), Y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
        sched.step()
    return loss.item()


disk = io.BytesIO()
net, opt, sched = fresh()
print("first session", round(run(net, opt, sched, 0, STOP), 4), "lr", opt.param_groups[0]["lr"])
torch.save(
    {
        "net": net.state_dict(),
        "opt": opt.state_dict(),
        "sched": sched.state_dict(),
        "epoch": STOP,
        "global_step": STOP * (512 // BATCH),
    },
    disk,
)

disk.seek(0)
ckpt = torch.load(disk)
net, opt, sched = fresh()
net.load_state_dict(ckpt["net"])
opt.load_state_dict(ckpt["opt"])
sched.load_state_dict(ckpt["sched"])
for _ in range(ckpt["global_step"]):
    sched.step()  # <- finding
print("lr on resuming", opt.param_groups[0]["lr"])
print("second session", round(run(net, opt, sched, ckpt["epoch"], EPOCHS), 4))
with torch.no_grad():
    print("final mse", round(nn.functional.mse_loss(net(X), Y).item(), 4))
