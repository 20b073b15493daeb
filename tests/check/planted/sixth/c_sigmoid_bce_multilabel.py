import torch
from torch import nn

torch.manual_seed(11)
N, D, K = 800, 20, 5


class TagModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(D, 48), nn.ReLU())
        self.out = nn.Linear(48, K)
        self.act = nn.Sigmoid()

    def forward(self, x):
        h = self.body(x)
        return self.act(self.out(h))  # BUG sigmoid-before-bce-logits

    def predict(self, x):
        return self(x) > 0.5  # BUG sigmoid-before-bce-logits


x = torch.randn(N, D)
tags = ((x @ torch.randn(D, K) - 4.0) > 0).float()
model = TagModel()
criterion = nn.BCEWithLogitsLoss()  # BUG sigmoid-before-bce-logits
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(150):
    idx = torch.randint(0, 600, (64,))
    optimizer.zero_grad()
    loss = criterion(model(x[idx]), tags[idx])
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(f"step {step} loss {loss.item():.4f}")
model.eval()
with torch.no_grad():
    pred = model.predict(x[600:]).float()
    held = criterion(model(x[600:]), tags[600:]).item()
print(f"held-out bce {held:.4f}, exact match {(pred == tags[600:]).all(1).float().mean():.3f}")
