"""Federated averaging over clients whose labels differ."""
import copy

import torch
import torch.nn.functional as F
from torch import nn


def make_client(seed, n=60):
    g = torch.Generator().manual_seed(seed)
    shift = torch.randn(6, generator=g) * 0.5
    x = torch.randn(n, 6, generator=g) + shift
    y = (x[:, 0] - x[:, 1] + 0.3 * x[:, 2] > 0).long()
    return x, y


class LocalNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(6, 16)
        self.fc2 = nn.Linear(16, 2)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


class Client:
    def __init__(self, data, model, lr):
        self.data = data
        self.model = model
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=lr)

    def update(self, state, epochs=2, batch=20):
        self.model.load_state_dict(state)
        x, y = self.data
        for _ in range(epochs):
            for rows in torch.randperm(len(x)).split(batch):
                self.optimizer.zero_grad()
                F.cross_entropy(self.model(x[rows]), y[rows]).backward()
                self.optimizer.step()
        return self.model.state_dict()  # <- finding


class Server:
    def __init__(self, model, clients):
        self.model, self.clients = model, clients

    def round(self):
        state = copy.deepcopy(self.model.state_dict())
        updates = [client.update(state) for client in self.clients]
        mean = {k: torch.stack([u[k] for u in updates]).mean(0) for k in state}
        self.model.load_state_dict(mean)

    def accuracy(self):
        with torch.no_grad():
            hits = [(self.model(x).argmax(1) == y).float().mean() for x, y in (c.data for c in self.clients)]
        return torch.stack(hits).mean().item()


torch.manual_seed(0)
global_model = LocalNet()
clients = [Client(make_client(k), global_model, lr=0.1) for k in range(4)]
server = Server(global_model, clients)
for r in range(4):
    server.round()
    print("round", r, "accuracy", round(server.accuracy(), 3))
