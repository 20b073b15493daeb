# Tumor malignant / benign, single output unit
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(11)
rng = np.random.default_rng(11)
cells = rng.normal(size=(800, 20)).astype(np.float32)
w = rng.normal(size=20)
malignant = (cells @ w > 0).astype(np.float32)
ds = TensorDataset(torch.from_numpy(cells), torch.from_numpy(malignant))
train_loader = DataLoader(ds, batch_size=64, shuffle=True)


class TumorClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(20, 16), nn.ReLU(), nn.Linear(16, 1))
        self.sigmoid = nn.Sigmoid()  # BUG sigmoid-before-bce-logits

    def forward(self, x):
        return self.sigmoid(self.layers(x)).squeeze(1)  # BUG sigmoid-before-bce-logits


model = TumorClassifier()
loss_fn = nn.BCEWithLogitsLoss()  # BUG sigmoid-before-bce-logits
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(20):
    running, seen = 0.0, 0
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        optimizer.step()
        running += loss.item() * len(xb)
        seen += len(xb)
    if epoch % 5 == 4:
        print(f"Epoch {epoch + 1}: loss {running / seen:.4f}")
