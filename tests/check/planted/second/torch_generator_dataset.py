"""Random masking of time series in worker processes."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, get_worker_info


class MaskedSeries(Dataset):
    def __init__(self, n=256, t=24, seed=0):
        g = torch.Generator().manual_seed(seed)
        phase = 6.28 * torch.rand(n, 1, generator=g)
        self.x = torch.sin(torch.arange(t) * 0.5 + phase)
        self.gen = g  # BUG same-worker-seed

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        keep = torch.rand(self.x.shape[1], generator=self.gen) > 0.3
        return self.x[i] * keep, keep.float(), self.x[i]


def main():
    torch.manual_seed(0)
    loader = DataLoader(MaskedSeries(), 32, shuffle=True, num_workers=2, persistent_workers=True)
    net = nn.Sequential(nn.Linear(48, 64), nn.ReLU(), nn.Linear(64, 24))
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for epoch in range(10):
        for x, keep, y in loader:
            loss = nn.functional.mse_loss(net(torch.cat([x, keep], 1)), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
    print("mse", loss.item(), "variance 0.5")


if __name__ == "__main__":
    main()
