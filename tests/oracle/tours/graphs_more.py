"""torch_geometric: neighbor sampling, node types, pooling, link prediction, transforms, sparse
adjacency.
"""

import torch
import torch.nn.functional as F
import torch_geometric.transforms as transforms
from _parts import show
from torch_geometric import seed_everything
from torch_geometric.data import Data, HeteroData
from torch_geometric.nn import (
    GAE,
    GATv2Conv,
    GCNConv,
    GINConv,
    HeteroConv,
    SAGEConv,
    TopKPooling,
    TransformerConv,
    global_add_pool,
    to_hetero,
)
from torch_geometric.utils import (
    add_self_loops,
    degree,
    negative_sampling,
    scatter,
    softmax,
    to_dense_adj,
    to_undirected,
)

seed_everything(0)
edges = to_undirected(torch.randint(0, 20, (2, 40)))
data = Data(x=torch.randn(20, 6), edge_index=edges, y=torch.randint(0, 3, (20,)))
data.train_mask = torch.arange(20) < 12
print(data, data.is_undirected(), data.has_self_loops())
show("degree", degree(edges[0]))
show("weights", softmax(torch.randn(edges.shape[1]), edges[0]))
show("sums", scatter(torch.randn(edges.shape[1], 2), edges[1], reduce="max"))
show("dense", to_dense_adj(add_self_loops(edges)[0]))


class Net(torch.nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.first, self.second = kind(6, 8), kind(8, 3)

    def forward(self, x, edge_index):
        return self.second(
            F.dropout(self.first(x, edge_index).relu(), 0.5, self.training), edge_index
        )


for kind in (GCNConv, SAGEConv, GATv2Conv, TransformerConv):
    model = Net(kind)
    optimizer = torch.optim.Adam(model.parameters(), 0.01, weight_decay=5e-4)
    for _ in range(3):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(data.x, edges)[data.train_mask], data.y[data.train_mask])
        loss.backward()
        optimizer.step()
    show(kind.__name__, loss)
    show("right", (model.eval()(data.x, edges).argmax(1) == data.y).double().mean())

auto = GAE(GCNConv(6, 4))
z = auto.encode(data.x, edges)
show("links", auto.recon_loss(z, edges, negative_sampling(edges, 20, 30)))
gin = GINConv(torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 8)))
pool = TopKPooling(8, 0.5)
x, pooled, _, batch, kept, score = pool(gin(data.x, edges), edges, batch=torch.arange(20) // 10)
show("pooled", global_add_pool(x, batch))
show(
    "adjacency",
    GCNConv(6, 4)(
        data.x, torch.sparse_coo_tensor(edges, torch.ones(edges.shape[1]), (20, 20)).to_sparse_csr()
    ),
)

hetero = HeteroData()
hetero["author"].x, hetero["paper"].x = torch.randn(4, 5), torch.randn(6, 7)
hetero["author", "writes", "paper"].edge_index = torch.stack(
    [torch.randint(0, 4, (9,)), torch.randint(0, 6, (9,))]
)
hetero = transforms.ToUndirected()(hetero)
print(hetero.metadata())
layer = HeteroConv({kind: SAGEConv((-1, -1), 3) for kind in hetero.edge_types}, aggr="sum")
for name, value in layer(hetero.x_dict, hetero.edge_index_dict).items():
    show(name, value)


class Two(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = SAGEConv((-1, -1), 4), SAGEConv((-1, -1), 2)

    def forward(self, x, edge_index):
        return self.second(self.first(x, edge_index).relu(), edge_index)


lifted = to_hetero(Two(), hetero.metadata(), aggr="mean")
for name, value in lifted(hetero.x_dict, hetero.edge_index_dict).items():
    show(f"lifted {name}", value)
split = transforms.RandomLinkSplit(is_undirected=True, num_val=0.2, num_test=0.2)(data)
print([part.edge_label.shape[0] for part in split])
cloud = transforms.Compose([transforms.NormalizeScale(), transforms.Cartesian()])(
    Data(pos=torch.rand(20, 3), edge_index=edges)
)
show("distances", cloud.edge_attr)
