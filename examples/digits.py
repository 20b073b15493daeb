"""Train a small convolutional network on 1,797 handwritten digits of 8x8 pixels.

    python digits.py [--epochs N] [--seed N] [--quick]

The data lies beside this file, in data/digits.csv.gz: one digit per line, 64 pixels from 0 to 16,
then the class.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset, random_split

DATA = Path(__file__).resolve().parent / "data" / "digits.csv.gz"


class Digits(Dataset):
    """Images as float32 of shape (1, 8, 8) from 0 to 1, labels as int64 from 0 to 9."""

    def __init__(self, path):
        table = np.loadtxt(path, delimiter=",", dtype=np.int64)
        self.images = torch.from_numpy(table[:, :64]).float().div(16).view(-1, 1, 8, 8)
        self.labels = torch.from_numpy(table[:, 64].copy())

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.images[index], self.labels[index]


class Network(nn.Module):
    """Two convolutions and two linear layers, with tanh and average pooling as in LeNet-5."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, kernel_size=3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, kernel_size=3, padding=1)
        self.pool = nn.AvgPool2d(2)
        self.fc1 = nn.Linear(32 * 4 * 4, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = torch.tanh(self.conv1(x))
        x = self.pool(torch.tanh(self.conv2(x)))
        x = torch.tanh(self.fc1(x.flatten(1)))
        return self.fc2(x)


class Progress:
    """A bar that is redrawn in place on a terminal; elsewhere only its last line is printed."""

    def __init__(self, title, total, width=24):
        self.title, self.total, self.width = title, total, width
        self.live = sys.stdout.isatty()

    def show(self, done, text, end=""):
        filled = self.width * done // self.total
        bar = "#" * filled + "." * (self.width - filled)
        if self.live or end:
            print(f"{chr(13) * self.live}{self.title} [{bar}] {text}", end=end, flush=True)


def train(model, loader, optimizer, progress):
    """Run one epoch; return the mean loss and the share of right answers while learning."""
    model.train()
    loss_sum, correct, seen = 0.0, 0, 0
    for step, (images, labels) in enumerate(loader, 1):
        optimizer.zero_grad()
        logits = model(images)
        loss = F.cross_entropy(logits, labels)
        loss.backward()
        optimizer.step()

        loss_sum += loss.item() * len(labels)
        correct += (logits.argmax(dim=1) == labels).sum().item()
        seen += len(labels)
        progress.show(step, f"loss {loss_sum / seen:.4f}  accuracy {correct / seen:7.2%}")
    return loss_sum / seen, correct / seen


@torch.no_grad()
def evaluate(model, loader):
    """Return the mean loss and the share of right answers."""
    model.eval()
    loss_sum, correct, seen = 0.0, 0, 0
    for images, labels in loader:
        logits = model(images)
        loss_sum += F.cross_entropy(logits, labels, reduction="sum").item()
        correct += (logits.argmax(dim=1) == labels).sum().item()
        seen += len(labels)
    return loss_sum / seen, correct / seen


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--epochs", type=int, default=12, help="passes over the training set (default 12)"
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="seed of weights, split and batches (default 0)"
    )
    parser.add_argument(
        "--quick", action="store_true", help="two epochs, to see that everything runs"
    )
    args = parser.parse_args()
    epochs = 2 if args.quick else args.epochs

    torch.manual_seed(args.seed)
    digits = Digits(DATA)
    train_set, test_set = random_split(digits, [1437, 360])
    train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
    test_loader = DataLoader(test_set, batch_size=360)

    model = Network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    parameters = sum(p.numel() for p in model.parameters())
    print(
        f"{len(train_set)} digits to learn from, {len(test_set)} to test on, {parameters} parameters"
    )

    test_accuracy = 0.0
    start = time.perf_counter()
    for epoch in range(1, epochs + 1):
        progress = Progress(f"epoch {epoch:2}/{epochs}", len(train_loader))
        loss, accuracy = train(model, train_loader, optimizer, progress)
        test_loss, test_accuracy = evaluate(model, test_loader)
        text = f"loss {loss:.4f}  accuracy {accuracy:7.2%}  test loss {test_loss:.4f}  accuracy {test_accuracy:7.2%}"
        progress.show(len(train_loader), text, end="\n")
    seconds = time.perf_counter() - start

    print(f"test accuracy {test_accuracy:.2%} after {epochs} epochs in {seconds:.1f} s")


if __name__ == "__main__":
    main()
