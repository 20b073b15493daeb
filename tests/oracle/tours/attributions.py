"""captum: which inputs, neurons and layers a network's output comes from."""

import tempfile
import warnings

import numpy as np
import torch
from _parts import show, without_compiled_operators

without_compiled_operators()
warnings.simplefilter("ignore")
from captum import attr  # noqa: E402
from captum.influence import TracInCP  # noqa: E402
from captum.metrics import infidelity, sensitivity_max  # noqa: E402
from captum.robust import FGSM, PGD  # noqa: E402

torch.manual_seed(0)
np.random.seed(0)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(1, 4, 3)
        self.relu1, self.relu2 = torch.nn.ReLU(), torch.nn.ReLU()
        self.pool = torch.nn.MaxPool2d(2)
        self.one, self.two = torch.nn.Linear(36, 8), torch.nn.Linear(8, 3)

    def forward(self, x, scale=1.0):
        x = self.pool(self.relu1(self.conv(x)))
        return self.two(self.relu2(self.one(x.flatten(1)))) * scale


net = Net().eval()
x, zero = torch.randn(2, 1, 8, 8), torch.zeros(2, 1, 8, 8)
target = torch.tensor([0, 2])
for kind in (attr.Saliency, attr.InputXGradient, attr.GuidedBackprop, attr.Deconvolution, attr.LRP):
    show(kind.__name__, kind(net).attribute(x, target=target).abs())
found, gap = attr.IntegratedGradients(net).attribute(
    x, zero, target=target, n_steps=12, return_convergence_delta=True
)
show("integrated", found.abs())
show("gap", gap.abs())
for kind in (attr.DeepLift, attr.GradientShap, attr.DeepLiftShap):
    base = torch.randn(3, 1, 8, 8) if kind is not attr.DeepLift else zero
    show(kind.__name__, kind(net).attribute(x, base, target=target).abs())
groups = (torch.arange(64).view(1, 1, 8, 8) // 16).long()
for kind, options in (
    (attr.FeatureAblation, {}),
    (attr.ShapleyValueSampling, {"n_samples": 2}),
    (attr.FeaturePermutation, {}),
    (attr.KernelShap, {"n_samples": 12}),
    (attr.Lime, {"n_samples": 12}),
    (attr.ShapleyValues, {}),
):
    one = x if kind is not attr.KernelShap and kind is not attr.Lime else x[:1]
    show(
        kind.__name__,
        kind(net).attribute(one, target=target[: len(one)], feature_mask=groups, **options).abs(),
    )
show(
    "occlusion", attr.Occlusion(net).attribute(x, (1, 4, 4), strides=(1, 2, 2), target=target).abs()
)
for kind in (
    attr.LayerGradCam,
    attr.LayerActivation,
    attr.LayerGradientXActivation,
    attr.LayerDeepLift,
    attr.LayerConductance,
    attr.InternalInfluence,
):
    made = kind(net, net.conv)
    show(
        kind.__name__,
        (
            made.attribute(x) if kind is attr.LayerActivation else made.attribute(x, target=target)
        ).abs(),
    )
show("cam", attr.GuidedGradCam(net, net.conv).attribute(x, target=target).abs())
show(
    "up",
    attr.LayerAttribution.interpolate(
        attr.LayerGradCam(net, net.conv).attribute(x, target=target), (8, 8)
    ).abs(),
)
show("neuron", attr.NeuronConductance(net, net.one).attribute(x, 3, target=target).abs())
show("neuron gradient", attr.NeuronGradient(net, net.one).attribute(x, 3).abs())
tunnel = attr.NoiseTunnel(attr.Saliency(net))
show(
    "tunnel",
    tunnel.attribute(x, nt_samples=4, nt_type="smoothgrad_sq", stdevs=0.1, target=target).abs(),
)
show(
    "infidelity",
    infidelity(
        net,
        lambda a: ((n := torch.randn_like(a) * 0.01), a - n),
        x,
        found,
        target=target,
        n_perturb_samples=3,
    ),
)
show(
    "sensitivity",
    sensitivity_max(attr.Saliency(net).attribute, x, target=target, n_perturb_samples=2),
)
show("fgsm", FGSM(net).perturb(x, 0.1, target).abs())
show("pgd", PGD(net).perturb(x, 0.2, 0.05, 3, target).abs())


class Words(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.out = torch.nn.Embedding(20, 6), torch.nn.Linear(6, 2)

    def forward(self, ids):
        return self.out(self.table(ids).mean(1))


words, ids = Words(), torch.randint(0, 20, (2, 5))
show(
    "embedding",
    attr.LayerIntegratedGradients(words, words.table)
    .attribute(ids, torch.zeros_like(ids), target=1, n_steps=8)
    .abs(),
)
table = attr.configure_interpretable_embedding_layer(words, "table")
vectors = table.indices_to_embeddings(ids)
show("vectors", attr.IntegratedGradients(words).attribute(vectors, target=0, n_steps=8).abs())
attr.remove_interpretable_embedding_layer(words, table)
data = torch.utils.data.TensorDataset(torch.randn(6, 1, 8, 8), torch.randint(0, 3, (6,)))
with tempfile.TemporaryDirectory() as folder:
    torch.save(net.state_dict(), f"{folder}/a.pt")
    influence = TracInCP(
        net,
        data,
        [f"{folder}/a.pt"],
        loss_fn=torch.nn.CrossEntropyLoss(reduction="none"),
        batch_size=3,
        checkpoints_load_func=lambda m, p: (m.load_state_dict(torch.load(p)), 1.0)[1],
    )
    show("influence", influence.influence((x, target)))
