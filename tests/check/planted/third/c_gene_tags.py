import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)

GENES, TAGS = 30, 5
expression = torch.randn(800, GENES)
mixing = torch.randn(GENES, TAGS)
tags = ((expression @ mixing) / GENES ** 0.5 > 0.4).float()

train_dl = DataLoader(TensorDataset(expression[:640], tags[:640]), batch_size=64, shuffle=True)
x_test, t_test = expression[640:], tags[640:]


class Tagger(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(GENES, hidden),
            nn.SiLU(),
            nn.Linear(hidden, TAGS),
        )

    def forward(self, x):
        return torch.sigmoid(self.layers(x))  # BUG sigmoid-before-bce-logits


tagger = Tagger()
criterion = nn.BCEWithLogitsLoss()  # BUG sigmoid-before-bce-logits
optimizer = torch.optim.Adam(tagger.parameters(), lr=5e-3)

for epoch in range(12):
    total = 0.0
    for x, t in train_dl:
        optimizer.zero_grad()
        loss = criterion(tagger(x), t)
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 4 == 3:
        print(f"epoch {epoch + 1}  loss {total / len(train_dl):.4f}")

with torch.no_grad():
    ranked = tagger(x_test)
pos, neg = ranked[t_test == 1], ranked[t_test == 0]
print("auc", (pos[:, None] > neg[None, :]).float().mean().item())
