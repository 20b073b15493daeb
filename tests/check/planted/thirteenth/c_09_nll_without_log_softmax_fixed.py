import torch
from torch import nn, optim
from torch.nn import functional as F

torch.manual_seed(2)


class TextCNN(nn.Module):
    def __init__(self, vocab, n_classes):
        super().__init__()
        self.embedding = nn.Embedding(vocab, 16)
        self.conv = nn.Conv1d(16, 24, kernel_size=3, padding=1)
        self.out = nn.Linear(24, n_classes)

    def forward(self, ids):
        x = self.embedding(ids).transpose(1, 2)
        x = F.relu(self.conv(x)).amax(dim=2)
        return F.log_softmax(self.out(x), dim=1)


def corpus(n):
    ids = torch.randint(4, 40, (n, 14))
    topic = torch.randint(0, 4, (n,))
    for row in range(n):
        spots = torch.randperm(14)[:2]
        ids[row, spots] = topic[row]
    return ids, topic


ids, topic = corpus(1000)
train_ids, train_topic = ids[:800], topic[:800]
test_ids, test_topic = ids[800:], topic[800:]

model = TextCNN(40, 4)
criterion = nn.NLLLoss()
optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

for epoch in range(8):
    model.train()
    total = 0.0
    perm = torch.randperm(800)
    for start in range(0, 800, 40):
        sel = perm[start : start + 40]
        optimizer.zero_grad()
        loss = criterion(model(train_ids[sel]), train_topic[sel])
        loss.backward()
        optimizer.step()
        total += loss.item() * len(sel)
    model.eval()
    with torch.no_grad():
        accuracy = (model(test_ids).argmax(dim=1) == test_topic).float().mean().item()
    print(f"epoch {epoch + 1:2d} | loss {total / 800:.4f} | accuracy {accuracy:.3f}")
