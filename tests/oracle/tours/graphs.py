"""torch_geometric: three kinds of convolutions and pooling on batches of graphs, trained, saved and
loaded.
"""

import io

import torch
import torch.nn.functional as F
from _parts import show
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GATConv, GCNConv, SAGEConv, global_mean_pool

torch.manual_seed(0)


def graph():
    nodes = int(torch.randint(5, 9, (1,)))
    return Data(
        x=torch.randn(nodes, 4),
        edge_index=torch.randint(0, nodes, (2, 3 * nodes)),
        y=torch.randint(0, 2, (1,)),
    )


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = GCNConv(4, 8), SAGEConv(8, 8), GATConv(8, 4, heads=2)
        self.last = torch.nn.Linear(8, 2)

    def forward(self, data):
        x = F.relu(self.first(data.x, data.edge_index))
        x = F.relu(self.second(x, data.edge_index))
        x = F.elu(self.third(x, data.edge_index))
        return self.last(global_mean_pool(x, data.batch))


graphs = [graph() for _ in range(12)]
net = Net()
optimizer = torch.optim.Adam(net.parameters(), 0.01)
for epoch in range(3):
    for batch in DataLoader(graphs, batch_size=4):
        loss = F.cross_entropy(net(batch), batch.y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    show(f"loss of epoch {epoch}", loss)
file = io.BytesIO()
torch.save(net.state_dict(), file)
file.seek(0)
again = Net()
again.load_state_dict(torch.load(file))
everything = next(iter(DataLoader(graphs, batch_size=12)))
print("loaded", torch.equal(net.eval()(everything), again.eval()(everything)))
show("predicted", net(everything))
