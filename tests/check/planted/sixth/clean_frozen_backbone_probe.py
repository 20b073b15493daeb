import torch
import torch.nn as nn

torch.manual_seed(4)
backbone = nn.Sequential(nn.Linear(8, 128), nn.ReLU(), nn.BatchNorm1d(128))
head = nn.Linear(128, 3)
for p in backbone.parameters():
    p.requires_grad = False
opt = torch.optim.Adam(head.parameters(), lr=1e-2)

X = torch.randn(500, 8)
y = X[:, :3].argmax(1)
# running statistics of the random features are set once, then frozen
backbone.train()
with torch.no_grad():
    for _ in range(50):
        backbone(X[:400])
backbone.eval()
with torch.no_grad():
    feats = backbone(X)
for epoch in range(150):
    loss = nn.functional.cross_entropy(head(feats[:400]), y[:400])
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", round(loss.item(), 3), "acc", (head(feats[400:]).argmax(1) == y[400:]).float().mean().item())
