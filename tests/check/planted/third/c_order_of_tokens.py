"""Does the marker token come before or after the middle of the sentence?"""
import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, LENGTH, DIM = 30, 12, 32
MARKER = 0


class OrderClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCAB, DIM)
        self.positions = nn.Parameter(0.5 * torch.randn(1, LENGTH, DIM))
        layer = nn.TransformerEncoderLayer(
            DIM, nhead=4, dim_feedforward=64, dropout=0.0, activation="gelu", batch_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, num_layers=1)
        self.head = nn.Linear(DIM, 2)

    def forward(self, ids):
        x = self.tokens(ids)  # BUG param-unused
        x = self.encoder(x)
        return self.head(x.mean(dim=1))


def make_sentences(n):
    ids = torch.randint(1, VOCAB, (n, LENGTH))
    where = torch.randint(0, LENGTH, (n,))
    ids[torch.arange(n), where] = MARKER
    return ids, (where >= LENGTH // 2).long()


torch.manual_seed(0)
train_ids, train_y = make_sentences(1500)
test_ids, test_y = make_sentences(300)
model = OrderClassifier()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for step in range(120):
    idx = torch.randint(0, len(train_ids), (64,))
    loss = F.cross_entropy(model(train_ids[idx]), train_y[idx])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 29:
        print(f"step {step + 1}: loss {loss.item():.3f}")

model.eval()
with torch.no_grad():
    acc = (model(test_ids).argmax(1) == test_y).float().mean().item()
print("test accuracy", acc)
