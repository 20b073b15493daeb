# Credit scores; the model is put into training mode before the loop
import torch
import torch.nn as nn

torch.manual_seed(4)
X = torch.randn(600, 8)
Y = (X[:, :3].sum(1) > 0).float()


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.25))
        self.head = nn.Linear(32, 1)

    def forward(self, x):
        return self.head(self.body(x)).squeeze(-1)


@torch.no_grad()
def validate(model):
    model.eval()  # BUG train-in-eval-mode
    return nn.functional.binary_cross_entropy_with_logits(model(X[480:]), Y[480:]).item()


model = Scorer()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
model.train()  # BUG train-in-eval-mode
for epoch in range(6):
    for start in range(0, 480, 60):
        rows = slice(start, start + 60)
        optimizer.zero_grad()
        logits = model(X[rows])  # BUG train-in-eval-mode
        loss = nn.functional.binary_cross_entropy_with_logits(logits, Y[rows])
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} val {validate(model):.4f}")
