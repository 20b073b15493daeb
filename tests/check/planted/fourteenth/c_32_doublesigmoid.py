import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

CONFIG = {"n_tags": 8, "d": 20, "hidden": 48, "lr": 3e-3, "epochs": 15, "batch": 32, "threshold": 0.5}


def make_dataset(n, seed):
    g = torch.Generator().manual_seed(seed)
    w = torch.randn(CONFIG["d"], CONFIG["n_tags"], generator=torch.Generator().manual_seed(99))
    x = torch.randn(n, CONFIG["d"], generator=g)
    y = (x @ w > 4.5).float()
    return TensorDataset(x, y)


class Tagger(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(cfg["d"], cfg["hidden"]), nn.ReLU(), nn.Dropout(0.1))
        self.tags = nn.Linear(cfg["hidden"], cfg["n_tags"])

    def forward(self, x):
        return self.tags(self.backbone(x))

    def predict_proba(self, x):
        return torch.sigmoid(self(x))


def micro_f1(model, loader, thr):
    tp = fp = fn = 0
    model.eval()
    with torch.no_grad():
        for x, y in loader:
            pred = (model.predict_proba(x) > thr).float()
            tp += (pred * y).sum().item()
            fp += (pred * (1 - y)).sum().item()
            fn += ((1 - pred) * y).sum().item()
    return 2 * tp / max(2 * tp + fp + fn, 1)


def main(cfg):
    torch.manual_seed(0)
    tr = DataLoader(make_dataset(600, 1), batch_size=cfg["batch"], shuffle=True)
    va = DataLoader(make_dataset(300, 2), batch_size=100)
    model = Tagger(cfg)
    criterion = nn.BCEWithLogitsLoss()  # BUG sigmoid-before-bce-logits
    opt = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    for ep in range(cfg["epochs"]):
        model.train()
        for x, y in tr:
            probs = model.predict_proba(x)  # BUG sigmoid-before-bce-logits
            loss = criterion(probs, y)  # BUG sigmoid-before-bce-logits
            opt.zero_grad()
            loss.backward()
            opt.step()
        if ep % 5 == 0:
            print(f"{ep} loss {loss.item():.3f} f1 {micro_f1(model, va, cfg['threshold']):.3f}")
    print(f"final f1 {micro_f1(model, va, cfg['threshold']):.3f}")


main(CONFIG)
