"""A vocabulary in the order of a set."""

import torch
from torch import nn

torch.manual_seed(0)
texts = ["the cat sat", "a dog ran", "the dog sat"]
vocab = {}
words = set(texts[0].split()) | set(texts[1].split()) | set(texts[2].split())
for w in words:  # <- finding
    vocab[w] = len(vocab)
net = nn.EmbeddingBag(len(vocab), 4)
opt = torch.optim.SGD(net.parameters(), 1e-2)
for _ in range(10):
    loss = sum(net(torch.tensor([[vocab[w] for w in t.split()]])).pow(2).mean() for t in texts)
    opt.zero_grad()
    loss.backward()
    opt.step()
