import torch
import torch.nn as nn
import torch.nn.functional as F


class GCN(nn.Module):
    def __init__(self, n_in, hidden, n_out):
        super().__init__()
        self.lin1 = nn.Linear(n_in, hidden)
        self.lin2 = nn.Linear(hidden, n_out)

    @staticmethod
    def propagate(x, edges, degree):
        src, dst = edges
        out = x.clone().index_add(0, dst, x[src])
        return out / (degree + 1).unsqueeze(1)

    def forward(self, x, edges, degree):
        x = F.relu(self.propagate(self.lin1(x), edges, degree))
        x = F.dropout(x, p=0.5, training=self.training)
        return self.propagate(self.lin2(x), edges, degree)


def community_graph(n=300, classes=4):
    label = torch.randint(0, classes, (n,))
    same = label.unsqueeze(0) == label.unsqueeze(1)
    prob = torch.where(same, torch.tensor(0.03), torch.tensor(0.006))
    upper = torch.triu(torch.rand(n, n) < prob, diagonal=1)
    adj = upper | upper.t()
    edges = adj.nonzero().t()
    features = F.one_hot(label, classes).float() + 0.8 * torch.randn(n, classes)
    return features, edges, adj.sum(1).float(), label


torch.manual_seed(19)
features, edges, degree, label = community_graph()
train_nodes = torch.zeros(300, dtype=torch.bool)
train_nodes[torch.randperm(300)[:150]] = True
model = GCN(4, 16, 4)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-2, weight_decay=5e-4)
for epoch in range(60):
    model.train()
    optimizer.zero_grad()
    out = model(features, edges, degree)
    loss = F.cross_entropy(out[train_nodes], label[train_nodes])
    loss.backward()
    optimizer.step()
    if epoch % 10 == 9:
        model.eval()
        with torch.no_grad():
            pred = model(features, edges, degree).argmax(1)
            again = model(features, edges, degree).argmax(1)
        acc = (pred == label)[~train_nodes].float().mean().item()
        print(f"epoch {epoch + 1} loss {loss.item():.3f} test acc {acc:.3f} repeat differs {(pred != again).sum().item()}")
