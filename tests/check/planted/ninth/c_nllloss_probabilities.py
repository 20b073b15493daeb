# Languages from letter counts
import torch
from torch import nn
from torch.nn import functional as F


class LanguageID(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(26, 32), nn.ReLU())
        self.head = nn.Linear(32, 5)

    def forward(self, counts):
        return F.softmax(self.head(self.body(counts)), dim=-1)  # BUG nll-without-log-softmax


torch.manual_seed(14)
rates = torch.rand(5, 26) * 3
language = torch.randint(0, 5, (300,))
counts = torch.poisson(rates[language])
model, criterion = LanguageID(), nn.NLLLoss()
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
for epoch in range(5):
    for rows in torch.randperm(300).split(30):
        optimizer.zero_grad()
        loss = criterion(model(counts[rows]), language[rows])
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
