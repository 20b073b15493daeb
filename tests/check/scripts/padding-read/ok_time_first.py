import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
rows = [torch.randint(1, 9, (int(n),)) for n in torch.randint(2, 8, (90,))]
padded = nn.utils.rnn.pad_sequence(rows)
lengths = torch.tensor([len(r) for r in rows])
labels = torch.stack([r.sum() > 12 for r in rows]).float()
embed = nn.Embedding(9, 10, padding_idx=0)
rnn = nn.RNN(10, 16)
head = nn.Linear(16, 1)
optimizer = torch.optim.Adam([*embed.parameters(), *rnn.parameters(), *head.parameters()], lr=5e-3)
for epoch in range(4):
    for part in torch.randperm(90).split(30):
        states, _ = rnn(embed(padded[:, part]))
        last = states[lengths[part] - 1, torch.arange(len(part))]
        loss = F.binary_cross_entropy_with_logits(head(last).squeeze(1), labels[part])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
