import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class TextCNN(nn.Module):
    def __init__(self, vocab=80, dim=16, filters=16, classes=3):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim)
        self.conv = nn.Conv1d(dim, filters, 3)
        self.fc = nn.Linear(filters, classes)

    def forward(self, ids):
        h = self.embedding(ids).transpose(1, 2)
        h = torch.tanh(self.conv(h)).amax(dim=2)
        h = F.dropout(h, p=0.5, training=self.training)
        return self.fc(h)


def documents(n, length=15):
    ids = torch.randint(12, 80, (n, length))
    y = torch.randint(0, 3, (n,))
    at = torch.randint(0, length - 1, (n,))
    rows = torch.arange(n)
    ids[rows, at] = 4 * y + torch.randint(0, 2, (n,))
    ids[rows, at + 1] = 4 * y + 2 + torch.randint(0, 2, (n,))
    return ids, y


x, y = documents(800)
x_test, y_test = documents(200)
model = TextCNN()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

for epoch in range(6):
    model.train()
    for idx in torch.randperm(800).split(50):
        loss = F.cross_entropy(model(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        logits = model(x_test)
    acc = (logits.argmax(1) == y_test).float().mean().item()
    print(f"epoch {epoch} test loss {F.cross_entropy(logits, y_test).item():.3f} acc {acc:.3f}")
