"""A graph convolutional network (Kipf and Welling, 2016): label the members of communities from a
few known ones.

python gcn.py [--epochs N] [--quick]
"""

import argparse
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


def communities(nodes, groups, generator):
    """A graph with dense groups and sparse links between them; features are noisy hints."""
    labels = torch.arange(nodes) % groups
    same = labels[:, None] == labels[None, :]
    chance = torch.where(same, 0.10, 0.01)
    upper = torch.triu(torch.rand(nodes, nodes, generator=generator) < chance, diagonal=1)
    adjacency = (upper | upper.T).float()
    features = F.one_hot(labels, groups).float() + torch.randn(nodes, groups, generator=generator)
    return adjacency, features, labels


def normalize(adjacency):
    a = adjacency + torch.eye(adjacency.shape[0])
    d = a.sum(1).rsqrt()
    return d[:, None] * a * d[None, :]


class GraphConvolution(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(in_features, out_features))
        self.bias = nn.Parameter(torch.zeros(out_features))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x, source, target, weight):
        """Messages along the edges, added up at their targets."""
        messages = (x @ self.weight)[source] * weight[:, None]
        out = torch.zeros(x.shape[0], messages.shape[1]).index_add(0, target, messages)
        return out + self.bias


class GCN(nn.Module):
    def __init__(self, nfeat, nhid, nclass):
        super().__init__()
        self.gc1 = GraphConvolution(nfeat, nhid)
        self.gc2 = GraphConvolution(nhid, nclass)

    def forward(self, x, *edges):
        x = F.relu(self.gc1(x, *edges))
        x = F.dropout(x, 0.2, training=self.training)
        return F.log_softmax(self.gc2(x, *edges), dim=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--quick", action="store_true", help="20 epochs on a smaller graph")
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    adjacency, features, labels = communities(
        120 if args.quick else 400, 4, torch.Generator().manual_seed(5)
    )
    weights = normalize(adjacency)
    target, source = weights.nonzero(as_tuple=True)
    edges = (source, target, weights[target, source])
    known = torch.arange(40)
    model = GCN(4, 16, 4)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    start = time.time()
    for epoch in range(1, (20 if args.quick else args.epochs) + 1):
        model.train()
        optimizer.zero_grad()
        output = model(features, *edges)
        loss = F.nll_loss(output[known], labels[known])
        loss.backward()
        optimizer.step()
        if args.quick or epoch % 10 == 0:
            print(f"epoch {epoch:3d} loss {loss.item():.4f}")
    print(f"{len(source)} edges, {epoch} epochs in {time.time() - start:.1f} s")
    model.eval()
    with torch.no_grad():
        right = model(features, *edges).argmax(1)[40:] == labels[40:]
    print(f"accuracy on the others {right.float().mean().item():.2%}")


if __name__ == "__main__":
    main()
