# Matrix factorisation for a recommender, cosine schedule per batch
import torch
from torch import nn

torch.manual_seed(14)
users = torch.randint(0, 40, (1200,))
items = torch.randint(0, 60, (1200,))
truth = torch.randn(40, 4) @ torch.randn(4, 60)
stars = truth[users, items] + 0.1 * torch.randn(1200)


class MF(nn.Module):
    def __init__(self):
        super().__init__()
        self.u = nn.Embedding(40, 6)
        self.i = nn.Embedding(60, 6)

    def forward(self, user, item):
        return (self.u(user) * self.i(item)).sum(1)


model = MF()
opt = torch.optim.Adam(model.parameters(), lr=0.05)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=96)
for epoch in range(8):
    for rows in torch.randperm(1200).split(100):
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(users[rows], items[rows]), stars[rows])
        loss.backward()
        opt.step()
        sched.step()
    print(epoch, loss.item())
