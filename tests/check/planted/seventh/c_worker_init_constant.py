# Augmentation with NumPy noise in DataLoader workers
import numpy as np
import torch
from torch.utils.data import Dataset, DataLoader


class NoisyPatches(Dataset):
    def __init__(self, n):
        self.base = np.zeros((n, 16), dtype=np.float32)
        self.base[:, ::4] = 1.0

    def __len__(self):
        return len(self.base)

    def __getitem__(self, i):
        noise = np.random.normal(0, 0.5, 16).astype(np.float32)
        return self.base[i] + noise, noise


def seed_worker(worker_id):
    np.random.seed(1234)  # BUG same-worker-seed


if __name__ == "__main__":
    torch.manual_seed(0)
    loader = DataLoader(NoisyPatches(64), batch_size=8, num_workers=2, worker_init_fn=seed_worker)
    ae = torch.nn.Sequential(torch.nn.Linear(16, 4), torch.nn.Linear(4, 16))
    opt = torch.optim.Adam(ae.parameters(), lr=0.01)
    seen = []
    for epoch in range(3):
        for patch, noise in loader:
            loss = ((ae(patch) - (patch - noise)) ** 2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            seen.append(noise)
        print("epoch", epoch, "loss", round(loss.item(), 4))
    noise = torch.cat(seen)
    print("noise vectors drawn", len(noise), "different", len(torch.unique(noise, dim=0)))
