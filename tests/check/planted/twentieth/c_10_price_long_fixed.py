"""House prices (in units of 100k) by an MLP with categorical embeddings."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

N_DISTRICTS = 6


def load_houses(n=320):
    area = torch.rand(n) * 100 + 40
    rooms = torch.randint(1, 6, (n,))
    district = torch.randint(0, N_DISTRICTS, (n,))
    level = torch.linspace(0.8, 1.4, N_DISTRICTS)
    price = (area * 2500 * level[district] + rooms * 9000) / 100_000
    numeric = torch.stack([(area - 90) / 29, (rooms - 3) / 1.4], dim=1)
    return numeric, district, price


def to_dataset(numeric, district, price):
    targets = price.reshape(-1, 1)
    return TensorDataset(numeric.float(), district.long(), targets)


class PriceModel(nn.Module):
    def __init__(self, n_numeric, emb=4, hidden=32):
        super().__init__()
        self.district = nn.Embedding(N_DISTRICTS, emb)
        self.net = nn.Sequential(
            nn.Linear(n_numeric + emb, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(),
            nn.Linear(hidden, 1),
        )

    def forward(self, numeric, district):
        return self.net(torch.cat([numeric, self.district(district)], dim=1))


def train(model, loader, epochs):
    criterion = nn.MSELoss()
    opt = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for epoch in range(epochs):
        seen = total = 0
        for numeric, district, target in loader:
            opt.zero_grad()
            loss = criterion(model(numeric, district), target.float())
            loss.backward()
            opt.step()
            total += loss.item() * len(target)
            seen += len(target)
        print(f"{epoch:02d} {total / seen:.4f}")


if __name__ == "__main__":
    torch.manual_seed(5)
    dataset = to_dataset(*load_houses())
    train(PriceModel(2), DataLoader(dataset, batch_size=32, shuffle=True), 4)
