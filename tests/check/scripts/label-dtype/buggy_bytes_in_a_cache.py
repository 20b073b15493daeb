"""300 species from a compact array cache, which has 8 bits for each."""

import io

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

SPECIES, DIM = 300, 32


def write_cache(embeddings, species):
    buffer = io.BytesIO()
    np.savez(
        buffer,
        embeddings=embeddings.astype(np.float16),
        species=species.astype(np.uint8),  # <- finding
    )
    buffer.seek(0)
    return buffer


class CachedCalls(Dataset):
    def __init__(self, buffer):
        with np.load(buffer) as archive:
            self.embeddings = archive["embeddings"]
            self.species = archive["species"]

    def __len__(self):
        return len(self.species)

    def __getitem__(self, i):
        return torch.from_numpy(self.embeddings[i].astype(np.float32)), int(self.species[i])


def main():
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    prototype = rng.normal(size=(SPECIES, DIM))

    def record(n):
        species = rng.integers(0, SPECIES, n)
        return prototype[species] + 0.4 * rng.normal(size=(n, DIM)), species

    loader = DataLoader(CachedCalls(write_cache(*record(3200))), batch_size=128, shuffle=True)
    calls, truth = record(500)
    calls, truth = torch.from_numpy(calls).float(), torch.from_numpy(truth)
    net = nn.Linear(DIM, SPECIES)
    opt = torch.optim.Adam(net.parameters(), lr=0.05)
    for epoch in range(5):
        total = 0.0
        for x, y in loader:
            loss = nn.functional.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        hits = (net(calls).argmax(1) == truth).float()
        print(
            f"epoch {epoch} loss {total / len(loader):.3f} accuracy {hits.mean():.3f} rare species {hits[truth >= 256].mean():.3f}"
        )


if __name__ == "__main__":
    main()
