"""Matrix factorization with biases on implicit ratings."""
import torch
from torch import nn


class BiasedMF(nn.Module):
    def __init__(self, n_users, n_items, k=8):
        super().__init__()
        self.user = nn.Embedding(n_users, k)
        self.item = nn.Embedding(n_items, k)
        self.user_bias = nn.Embedding(n_users, 1)
        self.item_bias = nn.Embedding(n_items, 1)
        self.mu = nn.Parameter(torch.zeros(()))
        for table in (self.user, self.item):
            nn.init.normal_(table.weight, std=0.1)
        for table in (self.user_bias, self.item_bias):
            nn.init.zeros_(table.weight)

    def forward(self, u, i):
        dot = (self.user(u) * self.item(i)).sum(dim=1)
        bias = (self.user_bias(u) + self.item_bias(i)).squeeze(1)
        return self.mu + dot + bias


def ratings(n_users, n_items, count):
    taste = torch.randn(n_users, 3)
    genre = torch.randn(n_items, 3)
    u = torch.randint(n_users, (count,))
    i = torch.randint(n_items, (count,))
    r = 3 + 0.7 * (taste[u] * genre[i]).sum(1) + 0.1 * torch.randn(count)
    return u, i, r.clamp(1, 5)


def run(epochs=3, batch=50):
    torch.manual_seed(4)
    u, i, r = ratings(30, 40, 600)
    model = BiasedMF(30, 40)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for epoch in range(epochs):
        order = torch.randperm(len(u))
        total = 0.0
        for chunk in order.split(batch):
            predicted = model(u[chunk], i[chunk])
            loss = ((predicted - r[chunk]) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: rmse {(total / (len(order) // batch)) ** 0.5:.3f}")
    return model


if __name__ == "__main__":
    run()
