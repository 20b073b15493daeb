"""torch_geometric: every convolution, aggregation, pooling and norm with gradients; models trained; explanations."""
# ruff: noqa: E402

import warnings

import torch
from _parts import show, without_compiled_operators

without_compiled_operators()
warnings.simplefilter("ignore")

import torch_geometric.nn as g
from torch_geometric import seed_everything
from torch_geometric.utils import to_undirected

seed_everything(0)
e = to_undirected(torch.randint(0, 12, (2, 24)))
x = torch.randn(12, 8)
w = torch.rand(e.shape[1])
ea = torch.randn(e.shape[1], 4)
pos = torch.randn(12, 3)
ty = torch.randint(0, 3, (e.shape[1],))
bt = torch.arange(12) // 6
mlp = lambda i, o: torch.nn.Sequential(
    torch.nn.Linear(i, 8), torch.nn.ReLU(), torch.nn.Linear(8, o)
)
C = {
    "GCNConv": lambda: (g.GCNConv(8, 4), (x, e, w)),
    "ChebConv": lambda: (g.ChebConv(8, 4, 3), (x, e)),
    "SAGEmax": lambda: (g.SAGEConv(8, 4, aggr="max", normalize=True), (x, e)),
    "SAGElstm": lambda: (g.SAGEConv(8, 4, aggr="lstm"), (x, e[:, e[1].argsort()])),
    "GraphConv": lambda: (g.GraphConv(8, 4), (x, e, w)),
    "GatedGraph": lambda: (g.GatedGraphConv(8, 2), (x, e)),
    "ResGated": lambda: (g.ResGatedGraphConv(8, 4), (x, e)),
    "GAT": lambda: (g.GATConv(8, 4, heads=2, edge_dim=4, dropout=0.1), (x, e, ea)),
    "GATv2": lambda: (g.GATv2Conv(8, 4, heads=2, edge_dim=4), (x, e, ea)),
    "Transformer": lambda: (g.TransformerConv(8, 4, heads=2, edge_dim=4, beta=True), (x, e, ea)),
    "AGNN": lambda: (g.AGNNConv(), (x, e)),
    "TAG": lambda: (g.TAGConv(8, 4), (x, e)),
    "GIN": lambda: (g.GINConv(mlp(8, 4), train_eps=True), (x, e)),
    "GINE": lambda: (g.GINEConv(mlp(8, 4), edge_dim=4), (x, e, ea)),
    "ARMA": lambda: (g.ARMAConv(8, 4, 2, 2), (x, e)),
    "SG": lambda: (g.SGConv(8, 4, 2), (x, e)),
    "SSG": lambda: (g.SSGConv(8, 4, 0.1, 2), (x, e)),
    "APPNP": lambda: (g.APPNP(3, 0.1), (x, e)),
    "MF": lambda: (g.MFConv(8, 4), (x, e)),
    "RGCN": lambda: (g.RGCNConv(8, 4, 3, num_bases=2), (x, e, ty)),
    "FastRGCN": lambda: (g.FastRGCNConv(8, 4, 3, num_bases=2), (x, e, ty)),
    "RGAT": lambda: (g.RGATConv(8, 4, 3), (x, e, ty)),
    "Signed": lambda: (g.SignedConv(8, 4, True), (x, e, e)),
    "PointNet": lambda: (g.PointNetConv(mlp(11, 4)), (x, pos, e)),
    "GMM": lambda: (g.GMMConv(8, 4, 3, 2), (x, e, torch.rand(e.shape[1], 3))),
    "NN": lambda: (g.NNConv(8, 4, mlp(4, 32)), (x, e, ea)),
    "CG": lambda: (g.CGConv(8, 4), (x, e, ea)),
    "Edge": lambda: (g.EdgeConv(mlp(16, 4)), (x, e)),
    "Feast": lambda: (g.FeaStConv(8, 4, 2), (x, e)),
    "Hyper": lambda: (g.HypergraphConv(8, 4), (x, torch.stack([e[0], e[1] % 4]))),
    "LE": lambda: (g.LEConv(8, 4), (x, e)),
    "PNA": lambda: (
        g.PNAConv(
            8,
            4,
            ["mean", "min", "max", "std"],
            ["identity", "amplification", "attenuation"],
            deg=torch.tensor([0, 2, 3, 4, 3]),
        ),
        (x, e),
    ),
    "Cluster": lambda: (g.ClusterGCNConv(8, 4), (x, e)),
    "GEN": lambda: (g.GENConv(8, 4, aggr="softmax", learn_t=True), (x, e)),
    "GCN2": lambda: (g.GCN2Conv(8, 0.1, 0.5, 1), (x, x, e)),
    "WL": lambda: (g.WLConvContinuous(), (x, e)),
    "FiLM": lambda: (g.FiLMConv(8, 4), (x, e)),
    "SuperGAT": lambda: (g.SuperGATConv(8, 4, 2), (x, e)),
    "FA": lambda: (g.FAConv(8), (x, x, e)),
    "EG": lambda: (g.EGConv(8, 4, num_heads=2, num_bases=2), (x, e)),
    "PDN": lambda: (g.PDNConv(8, 4, 4, 8), (x, e, ea)),
    "General": lambda: (g.GeneralConv(8, 4, attention=True, in_edge_channels=4), (x, e, ea)),
    "LG": lambda: (g.LGConv(), (x, e)),
    "GPS": lambda: (g.GPSConv(8, g.GINConv(mlp(8, 8)), heads=2), (x, e, bt)),
    "AntiSym": lambda: (g.AntiSymmetricConv(8), (x, e)),
    "Dir": lambda: (g.DirGNNConv(g.GCNConv(8, 4)), (x, e)),
    "Mix": lambda: (g.MixHopConv(8, 4, [0, 1, 2]), (x, e)),
}
for n, mk in C.items():
    torch.manual_seed(1)
    m, a = mk()
    o = m(*a)
    o = o[0] if isinstance(o, tuple) else o
    l = o.square().mean()
    gs = (
        torch.autograd.grad(l, list(m.parameters()), allow_unused=True)
        if list(m.parameters())
        else []
    )
    print(n, tuple(o.shape))
    show(" o", o.detach().abs())
    show(" g", sum((q.abs().sum() for q in gs if q is not None), torch.zeros(())))
for n in (
    "Sum",
    "Mean",
    "Max",
    "Min",
    "Mul",
    "Var",
    "Std",
    "Median",
    "Softmax",
    "PowerMean",
    "LSTM",
    "Sort",
    "SetTransformer",
    "GraphMultisetTransformer",
    "DeepSets",
    "GRU",
    "MLP",
    "Attentional",
    "VariancePreserving",
):
    torch.manual_seed(1)
    K = getattr(g, n if n == "GraphMultisetTransformer" else n + "Aggregation")
    kw = {
        "LSTM": (8, 4),
        "Sort": (3,),
        "SetTransformer": (8, 2),
        "GraphMultisetTransformer": (8, 2),
        "DeepSets": (mlp(8, 4), mlp(4, 2)),
        "GRU": (8, 4),
        "MLP": (8, 4, 6),
        "Attentional": (mlp(8, 1),),
        "Softmax": (),
        "PowerMean": (True,),
    }.get(n, ())
    a = K(*kw, num_layers=1) if n == "MLP" else K(*kw)
    xx = x.clone().abs().requires_grad_()
    o = a(xx, bt)
    o.square().sum().backward()
    print(n, tuple(o.shape))
    show(" o", o.detach().abs())
    show(" g", xx.grad.abs())
for n, mk in {
    "topk": lambda: g.TopKPooling(8, 0.5),
    "sag": lambda: g.SAGPooling(8, 0.5),
    "edge": lambda: g.EdgePooling(8),
    "asa": lambda: g.ASAPooling(8, 0.5),
}.items():
    torch.manual_seed(1)
    p = mk()
    o = p(x, e, batch=bt) if n != "edge" else p(x, e, bt)
    print(n, [tuple(t.shape) for t in o if isinstance(t, torch.Tensor)])
    show(" o", o[0].detach().abs())
for n, mk in {
    "gcn": lambda: g.GCN(8, 8, 2, 3, dropout=0.1, norm="batch", jk="cat"),
    "sage": lambda: g.GraphSAGE(8, 8, 2, 3, norm="layer"),
    "gat": lambda: g.GAT(8, 8, 2, 3, v2=True, heads=2),
    "gin": lambda: g.GIN(8, 8, 2, 3, norm="graph_norm"),
    "edgecnn": lambda: g.EdgeCNN(8, 8, 2, 3),
    "attentive": lambda: g.AttentiveFP(8, 8, 3, edge_dim=4, num_layers=2, num_timesteps=2),
    "unet": lambda: g.GraphUNet(8, 8, 3, 2),
    "deep": lambda: g.DeepGraphInfomax(
        8,
        g.GCNConv(8, 8),
        lambda z, *a, **k: z.mean(0).sigmoid(),
        lambda a, b: (a[torch.randperm(12)], b),
    ),
    "lightgcn": lambda: g.LightGCN(12, 8, 2),
}.items():
    torch.manual_seed(1)
    m = mk()
    p = torch.optim.Adam(m.parameters(), 0.01)
    for _ in range(2):
        if n == "attentive":
            o = m(x, e, ea, bt)
        elif n == "lightgcn":
            o = m(e)
        elif n == "deep":
            o = m.loss(*m(x, e))
        else:
            o = m(x, e)
        l = o.square().mean()
        p.zero_grad()
        l.backward()
        p.step()
    show(n, l)
    show(" w", sum(q.detach().double().abs().sum() for q in m.parameters()))
for K in (
    "BatchNorm",
    "InstanceNorm",
    "LayerNorm",
    "GraphNorm",
    "GraphSizeNorm",
    "PairNorm",
    "MeanSubtractionNorm",
    "MessageNorm",
    "DiffGroupNorm",
    "HeteroLayerNorm",
):
    k = getattr(g, K)
    m = (
        k(8)
        if K in ("BatchNorm", "InstanceNorm", "LayerNorm", "GraphNorm")
        else k(8, 2)
        if K == "DiffGroupNorm"
        else k(8, 3)
        if K.startswith("Hetero")
        else k(True)
        if K == "MessageNorm"
        else k()
    )
    show(
        K,
        (
            m(x)
            if K in ("BatchNorm", "DiffGroupNorm")
            else m(x, x)
            if K == "MessageNorm"
            else m(x, torch.randint(0, 3, (12,)))
            if K.startswith("Hetero")
            else m(x, bt)
        ).abs(),
    )
from torch_geometric.explain import Explainer, GNNExplainer

torch.manual_seed(1)
m = g.GCN(8, 8, 2, 3)
ex = Explainer(
    m,
    GNNExplainer(epochs=5),
    explanation_type="model",
    node_mask_type="attributes",
    edge_mask_type="object",
    model_config={
        "mode": "multiclass_classification",
        "task_level": "node",
        "return_type": "raw",
    },
)(x, e, index=3)
print(ex)
show("em", ex.edge_mask)
show("nm", ex.node_mask)
