# A character model that shows samples between epochs
import torch
from torch import nn

torch.manual_seed(125)
text = "hello world, how are you? " * 12
chars = sorted(set(text))
ids = torch.tensor([chars.index(c) for c in text])


class CharModel(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.emb = nn.Embedding(n, 16)
        self.rnn = nn.GRU(16, 32, batch_first=True)
        self.drop = nn.Dropout(0.2)
        self.out = nn.Linear(32, n)

    def forward(self, x, h=None):
        y, h = self.rnn(self.emb(x), h)
        return self.out(self.drop(y)), h

    @torch.no_grad()
    def sample(self, start, length):
        was = self.training
        self.eval()
        x, h, result = torch.tensor([[start]]), None, []
        for _ in range(length):
            logits, h = self(x, h)
            x = torch.multinomial(logits[:, -1].softmax(-1), 1)
            result.append(x.item())
        self.train(was)
        return result


model = CharModel(len(chars))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(3):
    for _ in range(10):
        start = torch.randint(0, len(ids) - 25, (8,))
        chunk = torch.stack([ids[s:s + 25] for s in start])
        logits, _ = model(chunk[:, :-1])
        loss = nn.functional.cross_entropy(logits.reshape(-1, len(chars)), chunk[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item(), "".join(chars[i] for i in model.sample(0, 20)))
