import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

CITIES = np.array(["athens", "berlin", "cairo", "dublin", "essen", "florence", "geneva", "hanoi"])


def table(n, cities, seed):
    rng = np.random.default_rng(seed)
    city = rng.choice(cities, n)
    area = rng.uniform(20, 120, n)
    level = np.array([{"a": 5, "b": 9, "c": 2, "d": 11, "e": 4, "f": 8, "g": 16, "h": 3}[c[0]] for c in city])
    rent = level * area / 10 + rng.normal(0, 4, n)
    return {"city": city, "area": area, "rent": rent}


class Encoder:
    def __init__(self):
        self.classes = None

    def fit(self, tab):
        self.classes = np.unique(tab["city"])
        self.area_mu, self.area_sd = tab["area"].mean(), tab["area"].std()
        self.rent_mu, self.rent_sd = tab["rent"].mean(), tab["rent"].std()
        return self

    def transform(self, tab):
        codes = np.unique(tab["city"], return_inverse=True)[1]  # BUG codes-apart
        area = (tab["area"] - self.area_mu) / self.area_sd
        rent = (tab["rent"] - self.rent_mu) / self.rent_sd
        return (torch.as_tensor(codes, dtype=torch.long), torch.as_tensor(area, dtype=torch.float32),
                torch.as_tensor(rent, dtype=torch.float32))


class RentNet(nn.Module):
    def __init__(self, n_city):
        super().__init__()
        self.emb = nn.Embedding(n_city, 6)
        self.net = nn.Sequential(nn.Linear(7, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, c, a):
        return self.net(torch.cat([self.emb(c), a[:, None]], dim=1)).squeeze(-1)


def main():
    torch.manual_seed(0)
    train_tab = table(800, CITIES, 1)
    val_tab = table(200, CITIES[[1, 3, 4, 6, 7]], 2)
    enc = Encoder().fit(train_tab)
    c, a, r = enc.transform(train_tab)
    cv, av, rv = enc.transform(val_tab)
    net = RentNet(len(enc.classes))
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for ep in range(20):
        net.train()
        for idx in torch.randperm(len(c)).split(40):
            loss = F.mse_loss(net(c[idx], a[idx]), r[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
        if ep % 5 == 0:
            print(ep, f"train {loss.item():.4f}")
    net.eval()
    with torch.no_grad():
        print(f"final val mse {F.mse_loss(net(cv, av), rv).item():.4f}")


main()
