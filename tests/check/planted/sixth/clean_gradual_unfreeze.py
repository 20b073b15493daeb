import torch
import torch.nn as nn

torch.manual_seed(1)
body = nn.Sequential(nn.Linear(6, 32), nn.Tanh())
head = nn.Linear(32, 2)
body.requires_grad_(False)
opt = torch.optim.Adam(head.parameters(), lr=1e-2)
X = torch.randn(600, 6)
y = (X[:, 0] * X[:, 1] > 0).long()

for epoch in range(30):
    if epoch == 5:
        body.requires_grad_(True)
        opt.add_param_group({"params": body.parameters(), "lr": 5e-3})
        print("body unfrozen; groups", len(opt.param_groups))
    for idx in torch.randperm(480).split(40):
        loss = nn.functional.cross_entropy(head(body(X[idx])), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch in (4, 29):
        with torch.no_grad():
            print(epoch, "acc", (head(body(X[480:])).argmax(1) == y[480:]).float().mean().item())
