import torch
import torch.nn as nn

torch.manual_seed(3)
X = torch.randn(600, 10)
y = (X[:, 0] * X[:, 1] > 0).long()
net = nn.Sequential(nn.Linear(10, 64), nn.GELU(), nn.Linear(64, 2))
opt = torch.optim.AdamW(net.parameters(), lr=1.0)
EPOCHS, BATCH = 20, 50
steps = EPOCHS * (500 // BATCH)
# base lr 1.0 is only a unit: the lambda returns the absolute learning rate
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: 1e-2 * min(1.0, (s + 1) / 20) * (1 - s / steps))
for epoch in range(EPOCHS):
    for idx in torch.randperm(500).split(BATCH):
        loss = nn.functional.cross_entropy(net(X[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
    if epoch % 5 == 4:
        with torch.no_grad():
            acc = (net(X[500:]).argmax(1) == y[500:]).float().mean().item()
        print(epoch + 1, "lr %.5f" % sched.get_last_lr()[0], "loss %.3f" % loss.item(), "acc %.3f" % acc)
