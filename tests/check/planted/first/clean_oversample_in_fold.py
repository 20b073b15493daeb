"""K-fold cross validation with oversampling inside the training fold."""
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(600, 6)
y = ((x[:, 0] + x[:, 1]) > 1.6).float()
folds = torch.randperm(600).chunk(3)
scores = []
for k in range(3):
    va = folds[k]
    tr = torch.cat([f for i, f in enumerate(folds) if i != k])
    pos, neg = tr[y[tr] == 1], tr[y[tr] == 0]
    tr = torch.cat([neg, pos[torch.randint(0, len(pos), (len(neg),))]])
    net = nn.Linear(6, 1)
    opt = torch.optim.Adam(net.parameters(), lr=2e-2)
    for epoch in range(6):
        for idx in tr[torch.randperm(len(tr))].split(64):
            loss = nn.functional.binary_cross_entropy_with_logits(net(x[idx]).squeeze(1), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
    with torch.no_grad():
        pred = net(x[va]).squeeze(1) > 0
    recall = (pred & (y[va] == 1)).sum() / (y[va] == 1).sum()
    scores.append(recall.item())
print("recall of each fold", scores)
