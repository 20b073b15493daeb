"""A character classifier with NLLLoss."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
names = torch.randint(0, 26, (200, 6))
labels = (names.float().mean(1) > 12.5).long() + (names[:, 0] > 20).long()


class CharRNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(26, 10)
        self.rnn = nn.GRU(10, 24, batch_first=True)
        self.fc = nn.Linear(24, 3)

    def forward(self, x):
        _, h = self.rnn(self.embed(x))
        return F.softmax(self.fc(h[-1]), dim=1)  # BUG nll-without-log-softmax


net = CharRNN()
criterion = nn.NLLLoss()
opt = torch.optim.Adam(net.parameters(), lr=0.01)
for i in range(25):
    pick = torch.randperm(200)[:50]
    out = net(names[pick])
    loss = criterion(out, labels[pick])  # BUG nll-without-log-softmax
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item())
