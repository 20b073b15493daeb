"""Part-of-speech tagger: bidirectional LSTM with NLL loss."""
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(5)
TAGS, WORDS, PAD = 5, 60, 0


class Tagger(nn.Module):
    def __init__(self, emb=16, hid=20):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, emb, padding_idx=PAD)
        self.lstm = nn.LSTM(emb, hid, bidirectional=True, batch_first=True)
        self.proj = nn.Linear(2 * hid, TAGS)

    def forward(self, sentences):
        feats, _ = self.lstm(self.embedding(sentences))
        return self.proj(feats)  # BUG nll-without-log-softmax


def corpus(n=120, length=9):
    words = torch.randint(1, WORDS, (n, length))
    tags = words % TAGS
    for i in range(n):
        cut = int(torch.randint(5, length + 1, ()))
        words[i, cut:] = PAD
        tags[i, cut:] = -100
    return words, tags


words, tags = corpus()
tagger = Tagger()
loss_fn = nn.NLLLoss(ignore_index=-100)  # BUG nll-without-log-softmax
opt = optim.Adam(tagger.parameters(), lr=0.01)
for epoch in range(6):
    order = torch.randperm(len(words))
    running = 0.0
    for chunk in order.split(24):
        scores = tagger(words[chunk])
        loss = loss_fn(scores.reshape(-1, TAGS), tags[chunk].reshape(-1))  # BUG nll-without-log-softmax
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(tagger.parameters(), 5.0)
        opt.step()
        running += loss.item()
    print(epoch, running / 5)
