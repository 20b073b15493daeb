import torch
from torch import nn

torch.manual_seed(1)
x = torch.randn(320, 4)
y = (x.sum(1) > 0).long()
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
EPOCHS, BATCH = 8, 32
sched = torch.optim.lr_scheduler.OneCycleLR(
    opt,
    max_lr=0.2,
    epochs=EPOCHS,
    steps_per_epoch=320 // BATCH,
)

for epoch in range(EPOCHS):
    for i in range(0, 320, BATCH):
        loss = nn.functional.cross_entropy(model(x[i:i + BATCH]), y[i:i + BATCH])
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()          # one cycle counts batches
    print("epoch", epoch, "lr", sched.get_last_lr()[0], "loss", loss.item())

with torch.no_grad():
    print("accuracy", (model(x).argmax(1) == y).float().mean().item())
