# Bag-of-words sentiment with functional dropout
import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB = 300


class Sentiment(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.emb = nn.EmbeddingBag(VOCAB, hidden, mode="mean")
        self.fc = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, 2)

    def forward(self, tokens):
        h = self.emb(tokens)
        h = F.dropout(F.relu(self.fc(h)), p=0.5, training=self.training)
        return self.out(h)


torch.manual_seed(5)
polarity = torch.randn(VOCAB)
docs = torch.randint(0, VOCAB, (1000, 20))
labels = (polarity[docs].mean(1) > 0).long()
net = Sentiment()
optim = torch.optim.Adam(net.parameters(), lr=0.01)

for epoch in range(10):
    net.train()
    for batch in torch.randperm(800).split(40):
        loss = F.cross_entropy(net(docs[batch]), labels[batch])
        optim.zero_grad()
        loss.backward()
        optim.step()
    print("epoch", epoch, "loss", round(loss.item(), 4))

net.eval()
with torch.no_grad():
    first = net(docs[800:]).argmax(1)
    second = net(docs[800:]).argmax(1)
print("test acc", (first == labels[800:]).float().mean().item())
print("reviews whose answer changed on a second run:", (first != second).sum().item())
