"""Classification of sensor readings, config from a dictionary."""
import torch
from torch import nn
from torch.utils.data import ConcatDataset, DataLoader, TensorDataset

CONFIG = {
    "train": {"batch_size": 32, "epochs": 4, "lr": 2e-3, "shuffle": True},
    "eval": {"batch_size": 128, "shuffle": False},
}


def class_dataset(label, n, center):
    return TensorDataset(center + torch.randn(n, len(center)), torch.full((n,), label))


def make_loader(dataset, section):
    cfg = CONFIG[section]
    return DataLoader(dataset, batch_size=cfg["batch_size"], shuffle=cfg["shuffle"])


def accuracy(model, loader):
    model.eval()
    right = 0
    with torch.no_grad():
        for x, y in loader:
            right += (model(x).argmax(1) == y).sum().item()
    return right / len(loader.dataset)


torch.manual_seed(0)
centers = torch.randn(5, 8)
train_set = ConcatDataset([class_dataset(k, 200, centers[k]) for k in range(5)])
test_set = ConcatDataset([class_dataset(k, 40, centers[k]) for k in range(5)])
train_loader, test_loader = make_loader(train_set, "train"), make_loader(test_set, "eval")
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 5))
opt = torch.optim.Adam(model.parameters(), lr=CONFIG["train"]["lr"])
for epoch in range(CONFIG["train"]["epochs"]):
    model.train()
    for x, y in train_loader:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
    print(epoch, loss.item(), accuracy(model, test_loader))
