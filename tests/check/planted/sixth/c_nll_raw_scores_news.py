import torch
import torch.nn as nn

torch.manual_seed(9)
VOCAB, TOPICS, LEN = 200, 4, 20


class BagOfWords(nn.Module):
    def __init__(self, vocab, dim, topics):
        super().__init__()
        self.emb = nn.EmbeddingBag(vocab, dim, mode="mean")
        self.fc = nn.Linear(dim, topics)

    def forward(self, tokens):
        return self.fc(self.emb(tokens))  # BUG nll-without-log-softmax


def sample(n):
    topic = torch.multinomial(torch.tensor([0.55, 0.25, 0.1, 0.1]), n, replacement=True)
    own = topic[:, None] * 50 + torch.randint(0, 50, (n, LEN))
    noise = torch.randint(0, VOCAB, (n, LEN))
    return torch.where(torch.rand(n, LEN) < 0.25, own, noise), topic


model = BagOfWords(VOCAB, 24, TOPICS)
criterion = nn.NLLLoss()  # BUG nll-without-log-softmax
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
tok, top = sample(1000)
for epoch in range(8):
    for b in torch.randperm(1000).split(50):
        loss = criterion(model(tok[b]), top[b])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.3f}")
tt, tl = sample(400)
with torch.no_grad():
    print("test accuracy", (model(tt).argmax(1) == tl).float().mean().item())
