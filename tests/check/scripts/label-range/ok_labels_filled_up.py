import torch
from torch import nn

torch.manual_seed(0)
sentences = [torch.randint(1, 30, (int(n),)) for n in torch.randint(2, 9, (60,))]
net = nn.Sequential(nn.Embedding(30, 8), nn.Linear(8, 4))
criterion = nn.CrossEntropyLoss(ignore_index=0)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for k in range(0, 60, 12):
    part = sentences[k : k + 12]
    words, tags = torch.zeros(12, max(map(len, part))).long(), torch.zeros(12, max(map(len, part))).long()
    for row, s in enumerate(part):
        words[row, : len(s)] = s
        tags[row, : len(s)] = 1 + s % 3
    loss = criterion(net(words).flatten(0, 1), tags.flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
