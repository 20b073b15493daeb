# Choose one element of a set: softmax over dimension 1, which is the set
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(11)
score = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 1))
opt = torch.optim.Adam(score.parameters(), lr=5e-3)
sets = torch.randn(300, 6, 4)
value = sets.sum(-1)
for epoch in range(6):
    for rows in torch.randperm(300).split(30):
        p = F.softmax(score(sets[rows]), dim=1).squeeze(-1)
        loss = -(p * value[rows]).sum(1).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
