import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(21)
x = torch.randn(500, 12)
y = (x[:, 0] * x[:, 1] > 0).long()
train_set, val_set = random_split(TensorDataset(x, y), [400, 100])
net = nn.Sequential(nn.Linear(12, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Dropout(0.3), nn.Linear(48, 2))
loss_fn = nn.CrossEntropyLoss()
opt = torch.optim.AdamW(net.parameters(), lr=3e-3)


def accuracy(model, loader):
    right = total = 0
    with torch.no_grad():
        for inputs, labels in loader:
            scores = model(inputs)  # BUG eval-in-train-mode
            right += (scores.argmax(1) == labels).sum().item()
            total += len(labels)
    return right / total


for epoch in range(6):
    net.train()
    for inputs, labels in DataLoader(train_set, 50, shuffle=True):
        opt.zero_grad()
        loss_fn(net(inputs), labels).backward()
        opt.step()
    print(epoch, "validation accuracy", accuracy(net, DataLoader(val_set, 50)))  # BUG eval-in-train-mode
