"""Load features and labels from 'files' of a directory listing and train."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


def make_store(n):
    """stands for a directory: name -> features, and a label list in numeric order"""
    y = torch.randint(0, 3, (n,))
    centers = torch.randn(3, 10)
    feats = centers[y] + 0.4 * torch.randn(n, 10)
    files = {f"sample_{i}.pt": feats[i] for i in range(n)}
    return files, y.tolist()


class Folder(Dataset):
    def __init__(self, files, labels):
        self.names = sorted(files, key=lambda s: int(s[7:-3]))
        self.files, self.labels = files, labels

    def __len__(self):
        return len(self.names)

    def __getitem__(self, i):
        return self.files[self.names[i]], self.labels[i]


def main():
    torch.manual_seed(0)
    files, labels = make_store(900)
    ds = Folder(files, labels)
    train = torch.utils.data.Subset(ds, range(0, 700))
    val = torch.utils.data.Subset(ds, range(700, 900))
    net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 3))
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    for epoch in range(6):
        for x, y in DataLoader(train, 50, shuffle=True):
            loss = nn.functional.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
    with torch.no_grad():
        x, y = next(iter(DataLoader(val, 200)))
        print("loss", loss.item(), "val acc", (net(x).argmax(1) == y).float().mean().item())


main()
