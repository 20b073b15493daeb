# Class 0 is the padding and only the padding; ignore_index=0 is right
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

torch.manual_seed(9)
PAD = 0
lengths = torch.randint(2, 9, (200,)).tolist()
words = [torch.randint(1, 20, (n,)) for n in lengths]
tags = [w % 4 + 1 for w in words]                # 1 .. 4
X = pad_sequence(words, batch_first=True, padding_value=PAD)
T = pad_sequence(tags, batch_first=True, padding_value=PAD)
emb = nn.Embedding(20, 16, padding_idx=PAD)
out = nn.Linear(16, 5)
opt = torch.optim.Adam([*emb.parameters(), *out.parameters()], lr=0.05)
criterion = nn.CrossEntropyLoss(ignore_index=PAD)

for epoch in range(10):
    logits = out(emb(X))
    loss = criterion(logits.reshape(-1, 5), T.reshape(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if epoch % 3 == 0:
        print("epoch", epoch, "loss", loss.item())
keep = T != PAD
print("accuracy", (logits.argmax(-1)[keep] == T[keep]).float().mean().item())
