"""Word embedding model whose vocabulary grows as new words arrive."""
import torch
import torch.nn as nn


class Lexicon(nn.Module):
    def __init__(self, n0=20, d=12, n_cls=4):
        super().__init__()
        self.emb = nn.Embedding(n0, d)
        self.fc = nn.Linear(d, n_cls)

    def grow(self, extra):
        new = torch.randn(extra, self.emb.embedding_dim) * 0.1
        weight = torch.cat([self.emb.weight.data, new])
        self.emb.weight = nn.Parameter(weight)
        self.emb.num_embeddings = len(weight)

    def forward(self, ids):
        return self.fc(self.emb(ids))


class Learner:
    def __init__(self, model):
        self.model = model
        self.make_optimizer()

    def make_optimizer(self):
        self.opt = torch.optim.Adam(self.model.parameters(), lr=1e-2)

    def fit(self, n_words, steps):
        for _ in range(steps):
            ids = torch.randint(0, n_words, (32,))
            loss = nn.functional.cross_entropy(self.model(ids), ids % 4)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
        return loss.item()


torch.manual_seed(0)
learner = Learner(Lexicon())
print("20 words", learner.fit(20, 150))
learner.model.grow(60)
learner.make_optimizer()
print("80 words", learner.fit(80, 200))
ids = torch.arange(80)
with torch.no_grad():
    print("acc", (learner.model(ids).argmax(1) == ids % 4).float().mean().item())
