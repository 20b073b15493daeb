import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

torch.manual_seed(0)
sentences = [torch.randint(1, 30, (int(n),)) for n in torch.randint(2, 9, (60,))]
net = nn.Sequential(nn.Embedding(30, 8), nn.Linear(8, 4))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for k in range(0, 60, 12):
    words = pad_sequence(sentences[k : k + 12], batch_first=True)
    tags = pad_sequence([1 + s % 3 for s in sentences[k : k + 12]], batch_first=True)
    losses = nn.functional.cross_entropy(net(words).transpose(1, 2), tags, reduction="none")
    real = words != 0
    loss = (losses * real).sum() / real.sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
