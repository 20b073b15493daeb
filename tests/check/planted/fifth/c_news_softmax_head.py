import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(0)
torch.manual_seed(0)

# bag-of-words topic classifier, 12 topics
VOCAB, TOPICS = 300, 12
topic_words = rng.dirichlet(np.full(VOCAB, 0.08), size=TOPICS)


def corpus(n):
    labels = rng.integers(0, TOPICS, n)
    docs = np.stack([rng.multinomial(30, 0.5 * topic_words[k] + 0.5 / VOCAB) for k in labels])
    return torch.from_numpy(docs).float(), torch.from_numpy(labels)


x_train, y_train = corpus(960)
x_test, y_test = corpus(400)

net = nn.Sequential(
    nn.Linear(VOCAB, 64),
    nn.ReLU(),
    nn.Linear(64, TOPICS),
    nn.Softmax(dim=1),  # BUG softmax-before-ce
)
loss_fn = nn.CrossEntropyLoss()  # BUG softmax-before-ce
opt = torch.optim.Adam(net.parameters(), lr=2e-3)

for epoch in range(12):
    perm = torch.randperm(len(x_train))
    total = 0.0
    for i in range(0, len(perm), 64):
        b = perm[i:i + 64]
        opt.zero_grad()
        loss = loss_fn(net(x_train[b]), y_train[b])
        loss.backward()
        opt.step()
        total += loss.item() * len(b)
    if epoch % 3 == 2:
        with torch.no_grad():
            acc = (net(x_test).argmax(1) == y_test).float().mean()
        print(f"[{epoch + 1:2d}] train CE {total / len(perm):.4f}   test acc {acc:.3f}")
