"""tensordict: dictionaries of tensors indexed, stacked, mapped to disk; modules that read and write
them; torchrl on top of it.
"""

import tempfile
import warnings

import torch
from _parts import show, without_compiled_operators

without_compiled_operators()
warnings.simplefilter("ignore")
from tensordict import (  # noqa: E402
    LazyStackedTensorDict,
    MemoryMappedTensor,
    NonTensorData,
    TensorClass,
    TensorDict,
    TensorDictParams,
    from_module,
    lazy_stack,
    pad,
    tensorclass,
)
from tensordict.nn import (  # noqa: E402
    CompositeDistribution,
    NormalParamExtractor,
    ProbabilisticTensorDictModule,
    ProbabilisticTensorDictSequential,
    TensorDictModule,
    TensorDictSequential,
    set_composite_lp_aggregate,
)
from torch import nn  # noqa: E402

torch.manual_seed(0)
td = TensorDict(
    {"a": torch.randn(3, 4), "b": {"c": torch.arange(3), "d": torch.ones(3, 4, 2)}}, batch_size=[3]
)
print(td)
print(td[1], td["b", "c"], td.shape, td.numel())
td["b", "e"] = td["a"] * 2
print(
    sorted(map(str, td.keys(True, True))),
    td[:, None].batch_size,
    td.reshape(3, 1).batch_size,
    td.unsqueeze(0).squeeze(0).batch_size,
)
both = torch.stack([td, td.clone().zero_()])
show("stacked", both["a"].sum())
print(
    torch.cat([td, td], 0).batch_size,
    [t.batch_size for t in both.unbind(0)],
    [t.batch_size for t in td.split(2)],
)
print(
    td.apply(lambda x: x.float() + 1).sum(dim=0)["b", "c"],
    (td + td).mul(2)["b", "c"],
    td.select("a"),
    td.exclude("a"),
)
print(
    td.flatten_keys(".").keys(),
    td.to_dict()["b"]["c"],
    (td == td).all(),
    td.view(-1).batch_size,
    td.permute(0).batch_size,
)
different = lazy_stack([TensorDict({"x": torch.ones(i + 1)}) for i in range(2)])
print(
    type(different).__name__,
    isinstance(different, LazyStackedTensorDict),
    different[1]["x"],
    different.get("x", as_nested_tensor=True).is_nested,
)
print(
    pad(td, [0, 2], value=1.0)["a"].shape,
    td.gather(0, torch.tensor([0, 2]))["b", "c"],
    td.masked_fill(td["b", "c"] > 1, 0)["b", "c"],
)
with tempfile.TemporaryDirectory() as folder:
    td.memmap_(folder)
    again = TensorDict.load_memmap(folder)
    print((again == td).all(), isinstance(again["a"], MemoryMappedTensor), again.is_memmap())
    torch.save(td, f"{folder}/td.pt")
    show("loaded", torch.load(f"{folder}/td.pt", weights_only=False)["a"])
    mapped = MemoryMappedTensor.from_tensor(torch.arange(6.0), filename=f"{folder}/m")
    mapped += 1
    print(
        mapped.sum(), MemoryMappedTensor.from_filename(f"{folder}/m", torch.float32, [6]).tolist()
    )
named = TensorDict(
    {"s": NonTensorData("text", batch_size=[2]), "t": torch.zeros(2, 3)},
    batch_size=[2],
    names=["time"],
)
print(named["s"], named.names, named[0]["s"])


@tensorclass
class Data:
    image: torch.Tensor
    label: torch.Tensor
    name: str = "none"


class Point(TensorClass["nocast"]):
    x: torch.Tensor
    y: torch.Tensor

    def length(self):
        return (self.x**2 + self.y**2).sqrt()


data = Data(torch.rand(4, 3), torch.arange(4), "digits", batch_size=[4])
print(data[1:3], data.name, torch.stack([data, data]).shape, data.to_tensordict().batch_size)
show("lengths", Point(torch.randn(5), torch.randn(5), batch_size=[5]).length())

net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
params = from_module(net)
print(params.data.apply(lambda p: p.abs().sum()).sum().numel(), sorted(params.keys()))
with params.data.clone().zero_().to_module(net):
    print(net(torch.ones(1, 4)))
show("restored", net(torch.ones(1, 4)))
many = torch.stack([from_module(nn.Linear(4, 2)).detach() for _ in range(3)])
base = nn.Linear(4, 2)


def call(p, x):
    with p.to_module(base):
        return base(x)


show("ensemble", torch.vmap(call, (0, None))(many, torch.ones(5, 4)))
held = TensorDictParams(
    TensorDict({"w": nn.Parameter(torch.ones(2)), "v": {"u": nn.Parameter(torch.zeros(3))}})
)
print([n for n, _ in held.named_parameters()], len(list(held.parameters())))
module = TensorDictModule(net, in_keys=["a"], out_keys=["out"])
print(module(td.clone())["out"].shape, module.in_keys)
chain = TensorDictSequential(module, TensorDictModule(lambda x: x.relu(), ["out"], ["y"]))
show("chain", chain(td.clone())["y"])
actor = ProbabilisticTensorDictSequential(
    TensorDictModule(
        nn.Sequential(nn.Linear(4, 4), NormalParamExtractor()), ["a"], ["loc", "scale"]
    ),
    ProbabilisticTensorDictModule(
        ["loc", "scale"],
        ["action"],
        distribution_class=torch.distributions.Normal,
        return_log_prob=True,
    ),
)
out = actor(td.clone())
show("action", out["action"])
with set_composite_lp_aggregate(False):
    composed = CompositeDistribution(
        TensorDict(
            {
                "x": {"loc": torch.zeros(3), "scale": torch.ones(3)},
                "z": {"logits": torch.zeros(3, 2)},
            },
            [3],
        ),
        {"x": torch.distributions.Normal, "z": torch.distributions.Categorical},
    )
    drawn = composed.sample()
    show("composite", sum(v.sum() for v in composed.log_prob(drawn).values(True, True)))
loss = actor(td.clone())["action"].sum()
loss.backward()
show("gradient", sum(p.grad.abs().sum() for p in actor.parameters()))
