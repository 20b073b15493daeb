import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

words = torch.randint(0, 12, (256, 7))
labels = (words == 0).any(1).long()
emb = nn.Embedding(
    12, 8, padding_idx=0
)  # BUG param-frozen|padding-read|argument-absurd|mask-without-effect
head = nn.Linear(8, 2)
opt = torch.optim.Adam([*emb.parameters(), *head.parameters()], lr=1e-2)
for epoch in range(5):
    for i in range(0, 256, 32):
        loss = F.cross_entropy(head(emb(words[i : i + 32]).mean(1)), labels[i : i + 32])
        opt.zero_grad()
        loss.backward()
        opt.step()
