import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(3)
X = torch.randn(800, 20)
Y = (X[:, :4].sum(1) > 0).long()
train_set, val_set = random_split(TensorDataset(X, Y), [600, 200])
train_dl = DataLoader(train_set, batch_size=50, shuffle=True)
val_dl = DataLoader(val_set, batch_size=100)

model = nn.Sequential(
    nn.Linear(20, 64), nn.ReLU(), nn.Dropout(0.6),
    nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.6),
    nn.Linear(64, 2),
)
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
ce = nn.CrossEntropyLoss()


def train_epoch():
    model.train()
    for xb, yb in train_dl:
        opt.zero_grad()
        ce(model(xb), yb).backward()
        opt.step()


def validate():  # BUG wrong-mode|missing-eval|eval-in-train-mode
    hits, loss_sum = 0, 0.0
    with torch.no_grad():  # BUG wrong-mode|missing-eval|eval-in-train-mode
        for xb, yb in val_dl:
            out = model(xb)
            loss_sum += ce(out, yb).item() * len(yb)
            hits += (out.argmax(1) == yb).sum().item()
    return loss_sum / len(val_set), hits / len(val_set)


for ep in range(6):
    train_epoch()
    vl, va = validate()
    print(f"epoch {ep} val_loss {vl:.4f} val_acc {va:.3f}")
print("repeat", validate(), validate())
