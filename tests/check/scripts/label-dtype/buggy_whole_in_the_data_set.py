"""A data set keeps its targets as whole numbers and gives them back as floating point."""

import torch
from torch import nn


class Rows(torch.utils.data.Dataset):
    def __init__(self, x, y):
        self.x = x
        self.y = torch.tensor(y).long()  # <- finding

    def __len__(self):
        return len(self.x)

    def __getitem__(self, k):
        return self.x[k], self.y[k].float()


torch.manual_seed(0)
x = torch.randn(64, 4)
loader = torch.utils.data.DataLoader(Rows(x, (2.5 * x[:, 0]).tolist()), batch_size=16)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(3):
    for rows, wanted in loader:
        loss = nn.functional.mse_loss(model(rows).squeeze(1), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(loss.item())
