import torch
import torch.nn as nn

torch.manual_seed(1)


class WordScorer(nn.Module):
    def __init__(self, vocab, dim=8):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.fc = nn.Linear(dim, 2)

    def grow(self, new_size):
        old = self.emb.weight.data
        fresh = torch.zeros(new_size - len(old), old.size(1))
        self.emb.weight = nn.Parameter(torch.cat([old, fresh]))
        self.emb.num_embeddings = new_size

    def forward(self, tok):
        return self.fc(self.emb(tok).mean(1))


class Session:
    def __init__(self, model):
        self.model = model
        self.opt = torch.optim.Adam(model.parameters(), lr=0.02)

    def learn(self, tok, y, epochs):
        for _ in range(epochs):
            loss = nn.functional.cross_entropy(self.model(tok), y)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
        return loss.item()


polarity = torch.randint(0, 2, (80,))


def docs(n, lo, hi):
    y = torch.randint(0, 2, (n,))
    words = torch.arange(lo, hi)
    t = torch.stack([words[polarity[words] == k][torch.randint(0, int((polarity[words] == k).sum()), (6,))] for k in y.tolist()])
    noise = torch.randint(lo, hi, t.shape)
    return torch.where(torch.rand(t.shape) < 0.4, noise, t), y


s = Session(WordScorer(40))
t, y = docs(300, 0, 40)
print("phase 1 loss", round(s.learn(t, y, 80), 3))
s.model.grow(80)
s.opt = torch.optim.Adam(s.model.parameters(), lr=0.02)
t, y = docs(300, 40, 80)
print("phase 2 loss", round(s.learn(t, y, 120), 3))
t, y = docs(300, 40, 80)
print("accuracy on new words", (s.model(t).argmax(1) == y).float().mean().item())
