"""Train a network on handwritten digits, quantize it in two ways, and compare accuracy, size and
time.

    python quantize_digits.py [--epochs N] [--seed N] [--quick]

Static quantization puts bytes in the place of weights and results: the network runs with some
training images first, whose results tell the range of each layer. Dynamic quantization needs no
images; it is for linear layers, whose inputs it rounds whenever they run. The data lies beside this
file, in data/digits.csv.gz.
"""

import argparse
import io
import time
import warnings
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.ao.quantization import (
    DeQuantStub,
    QuantStub,
    convert,
    fuse_modules,
    get_default_qconfig,
    prepare,
    quantize_dynamic,
)

DATA = Path(__file__).resolve().parent / "data" / "digits.csv.gz"


class Network(nn.Module):
    """Two convolutions with batch norms, and two linear layers, between the stubs where numbers
    become bytes and floats again.
    """

    def __init__(self, channels=32):
        super().__init__()
        self.quant, self.dequant = QuantStub(), DeQuantStub()
        self.conv1 = nn.Conv2d(1, channels, 3, padding=1, bias=False)
        self.bn1, self.relu1 = nn.BatchNorm2d(channels), nn.ReLU()
        self.conv2 = nn.Conv2d(channels, 2 * channels, 3, padding=1, bias=False)
        self.bn2, self.relu2 = nn.BatchNorm2d(2 * channels), nn.ReLU()
        self.pool = nn.MaxPool2d(2)
        self.fc1, self.relu3 = nn.Linear(2 * channels * 16, 256), nn.ReLU()
        self.fc2 = nn.Linear(256, 10)

    def forward(self, x):
        x = self.quant(x)
        x = self.relu1(self.bn1(self.conv1(x)))
        x = self.pool(self.relu2(self.bn2(self.conv2(x))))
        x = self.relu3(self.fc1(x.flatten(1)))
        return self.dequant(self.fc2(x))


def load(quick):
    """Images (n, 1, 8, 8) from 0 to 1 and labels, shuffled, in two parts: for training and for
    testing.
    """
    table = np.loadtxt(DATA, delimiter=",", dtype=np.int64)
    images = torch.from_numpy(table[:, :64]).float().div(16).view(-1, 1, 8, 8)
    labels = torch.from_numpy(table[:, 64].copy())
    order = torch.randperm(len(labels))[: 600 if quick else None]
    images, labels = images[order], labels[order]
    cut = len(labels) * 4 // 5
    return (images[:cut], labels[:cut]), (images[cut:], labels[cut:])


def train(model, images, labels, epochs, every):
    model.train()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    step = 0
    for _ in range(epochs):
        for batch in torch.randperm(len(labels)).split(64):
            loss = F.cross_entropy(model(images[batch]), labels[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % every == 0:
                print(f"step {step:3d}  loss {loss.item():.4f}")


def static(model, images):
    """The model with bytes throughout, calibrated with images."""
    layers = [["conv1", "bn1", "relu1"], ["conv2", "bn2", "relu2"], ["fc1", "relu3"]]
    fused = fuse_modules(model, layers)
    fused.qconfig = get_default_qconfig("onednn")
    prepared = prepare(fused)
    with torch.no_grad():
        for batch in images.split(64):
            prepared(batch)
    return convert(prepared)


def describe(name, model, images, labels):
    """Print how many labels are right, the bytes of the parameters in a file, and the time for all
    images.
    """
    with torch.no_grad():
        right = (model(images).argmax(1) == labels).float().mean().item()
        times = []
        for _ in range(10):
            start = time.perf_counter()
            model(images)
            times.append(time.perf_counter() - start)
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    print(f"{name:8}  accuracy {right:6.1%}")
    print(f"{'':8}  {len(file.getvalue()) / 1024:.1f} KiB, {min(times) * 1000:.2f} ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="fewer images, two epochs")
    options = parser.parse_args()

    # PyTorch announces that quantization will move to another package.
    warnings.filterwarnings("ignore", message=r"torch\.(ao\.)?quantiz")
    torch.manual_seed(options.seed)
    (images, labels), test = load(options.quick)
    model = Network()
    train(model, images, labels, 2 if options.quick else options.epochs, 1 if options.quick else 20)
    model.eval()

    describe("floats", model, *test)
    describe("dynamic", quantize_dynamic(model, {nn.Linear}), *test)
    describe("static", static(model, images[:256]), *test)


if __name__ == "__main__":
    main()
