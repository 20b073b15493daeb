"""e3nn: irreducible representations, spherical harmonics, tensor products written by its code
generator, a layer trained.
"""

import io

import torch
from _parts import show
from e3nn import nn, o3
from e3nn.math import soft_one_hot_linspace

torch.manual_seed(0)
irreps = o3.Irreps("4x0e + 2x1o + 1x2e")
print(irreps.dim, irreps.simplify(), (irreps * 2).simplify())
vectors = torch.randn(6, 3)
show(
    "harmonics",
    o3.spherical_harmonics(
        o3.Irreps.spherical_harmonics(2), vectors, normalize=True, normalization="component"
    ),
)
show("wigner", o3.wigner_3j(1, 1, 2).abs())
rotation = o3.rand_matrix()
show("rotation", irreps.D_from_matrix(rotation))
x = irreps.randn(6, -1)
attributes = o3.spherical_harmonics("1x0e + 1x1o", vectors, True)


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.product = o3.FullyConnectedTensorProduct(irreps, "1x0e + 1x1o", "8x0e + 2x0e + 2x1o")
        self.gate = nn.Gate("8x0e", [torch.tanh], "2x0e", [torch.sigmoid], "2x1o")
        self.last = o3.Linear(self.gate.irreps_out, "1x0e + 1x1o")

    def forward(self, x, attributes):
        return self.last(self.gate(self.product(x, attributes)))


layer = Layer()
turned = layer(
    x @ irreps.D_from_matrix(rotation).T,
    attributes @ o3.Irreps("0e + 1o").D_from_matrix(rotation).T,
)
print(
    "equivariant",
    torch.allclose(
        turned, layer(x, attributes) @ o3.Irreps("0e + 1o").D_from_matrix(rotation).T, atol=1e-4
    ),
)
optimizer = torch.optim.Adam(layer.parameters(), 0.01)
for _ in range(3):
    loss = (layer(x, attributes) - torch.ones(6, 4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    show("loss", loss)
file = io.BytesIO()
torch.save(layer.state_dict(), file)
file.seek(0)
again = Layer()
again.load_state_dict(torch.load(file))
print("loaded", torch.equal(again(x, attributes), layer(x, attributes)))
network = nn.FullyConnectedNet([4, 8, 2], torch.nn.functional.silu)
show(
    "radial",
    network(soft_one_hot_linspace(torch.rand(5), 0.0, 1.0, 4, basis="smooth_finite", cutoff=True)),
)
norm = nn.BatchNorm(irreps)
show("normed", norm(x))
show("activated", nn.Activation("4x0e", [torch.tanh])(torch.randn(3, 4)))
product = o3.TensorSquare("2x0e + 1x1o")
show("square", product(torch.randn(3, 5)))
