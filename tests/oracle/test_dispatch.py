"""What modes and tensor types that handle operators are told of, beside PyTorch."""

import importlib

import pytest

import pellucid

oracle = pytest.importorskip("torch")

# A program: `m` is the library, `x` (3, 4), `w` (5, 4), `b` (5,) and `im` (2, 3, 8, 8) want
# gradients, `y` (3, 4) and `s` (2, 3, 4) do not.
PROGRAMS = {
    "linear": lambda m, F, v: F.linear(v.y, v.w, v.b),
    "linear of three dimensions": lambda m, F, v: F.linear(v.s, v.w, v.b),
    "linear without bias": lambda m, F, v: F.linear(v.s, v.w),
    "linear backward": lambda m, F, v: F.linear(v.x, v.w, v.b).relu().sum().backward(),
    "products": lambda m, F, v: (
        v.y @ v.y[0],
        v.y[0] @ v.y[0],
        v.s @ v.s.transpose(1, 2),
        v.s @ v.w.t(),
    ),
    "products backward": lambda m, F, v: (
        m.bmm(v.s.requires_grad_(), v.s.transpose(1, 2)).sum().backward()
    ),
    "numbers": lambda m, F, v: (
        v.y * 2,
        2 * v.y,
        v.y + 1,
        v.y - 1,
        1 - v.y,
        1 / v.y,
        v.y / 2,
        v.y**2,
        2**v.y,
        -v.y,
        v.y > 0,
        v.y == v.y,
    ),
    "in place": lambda m, F, v: v.y.clone().add_(1).mul_(v.y).relu_().zero_().fill_(1.0),
    "items set": lambda m, F, v: (
        v.y.clone().__setitem__(0, 1.0),
        v.y.clone().__setitem__((slice(None), 1), v.y[:, 0]),
    ),
    "items": lambda m, F, v: (
        v.y[0],
        v.y[:, 1:3],
        v.y[None],
        v.y[..., 0],
        v.y[m.tensor([0, 1])],
        v.y[v.y > 0],
    ),
    "views": lambda m, F, v: (
        v.y.t(),
        v.y.T,
        v.y.view(12),
        v.y.reshape(4, 3),
        v.y.permute(1, 0),
        v.y[None].squeeze(),
        v.y[None].squeeze(0),
        v.y.expand(2, 3, 4),
        v.y.flatten(),
        v.y.t().reshape(12),
        v.y.t().contiguous(),
        v.y.split(2),
        v.y.chunk(2),
        v.y.unbind(0),
        v.y.narrow(0, 0, 1),
        v.y.diagonal(),
    ),
    "reductions": lambda m, F, v: (
        v.y.sum(),
        v.y.sum(0),
        v.y.sum((0, 1), keepdim=True),
        v.y.mean(),
        v.y.mean(-1),
        v.y.max(),
        v.y.max(1),
        v.y.argmax(),
        v.y.amax(0),
        v.y.var(),
        v.y.var(0),
        v.y.std(0),
        v.y.prod(),
        v.y.norm(),
        v.y.all(),
        v.y.any(),
        v.y.cumsum(0),
        v.y.logsumexp(0),
        v.y.min(0),
        v.y.topk(2),
        v.y.sort(),
    ),
    "factories": lambda m, F, v: (
        m.zeros(2, 3),
        m.ones(2),
        m.empty(2),
        m.full((2,), 1.0),
        m.arange(3),
        m.arange(1, 3.0),
        m.rand(2),
        m.randn(2, 3),
        m.randint(0, 3, (2,)),
        m.eye(2),
        m.linspace(0, 1, 3),
        m.tensor([1.0]),
        m.zeros_like(v.y),
        m.randn_like(v.y),
        v.y.new_zeros(2),
        m.randperm(3),
        m.zeros(2, dtype=m.int64),
        m.ones(2, requires_grad=True),
    ),
    "conversions": lambda m, F, v: (
        v.x.detach(),
        v.y.double(),
        v.y.float(),
        v.y.cpu(),
        v.y.type(m.int64),
        v.y.to("meta"),
        v.y[0, 0].item(),
    ),
    "losses": lambda m, F, v: F.cross_entropy(v.x, m.tensor([0, 1, 2])).backward(),
    "squares": lambda m, F, v: F.mse_loss(v.x, v.y).backward(),
    "logits": lambda m, F, v: F.binary_cross_entropy_with_logits(v.x, (v.y > 0).float()).backward(),
    "activations": lambda m, F, v: [
        m.autograd.grad(f(v.x).sum(), v.x)
        for f in (
            F.relu,
            F.gelu,
            m.sigmoid,
            m.tanh,
            F.silu,
            F.elu,
            F.leaky_relu,
            F.softplus,
            F.hardtanh,
            F.mish,
            F.hardswish,
            F.logsigmoid,
        )
    ],
    "softmax": lambda m, F, v: (
        m.autograd.grad(F.softmax(v.x, -1).sum(), v.x),
        m.autograd.grad(F.log_softmax(v.x, -1).sum(), v.x),
    ),
    "layer_norm": lambda m, F, v: (
        F.layer_norm(v.x, (4,), m.ones(4, requires_grad=True), m.zeros(4)).sum().backward()
    ),
    "batch_norm": lambda m, F, v: (
        F.batch_norm(v.im, m.zeros(3), m.ones(3), m.ones(3, requires_grad=True), None, True)
        .sum()
        .backward()
    ),
    "group_norm": lambda m, F, v: F.group_norm(v.im, 3, m.ones(3), m.zeros(3)).sum().backward(),
    "convolution": lambda m, F, v: (
        F.conv2d(v.im, m.ones(4, 3, 3, 3), m.ones(4), padding=1).sum().backward()
    ),
    "transposed convolution": lambda m, F, v: F.conv_transpose2d(
        m.ones(1, 2, 5, 5), m.ones(2, 3, 3, 3)
    ),
    "pooling": lambda m, F, v: [
        m.autograd.grad(f(v.im).sum(), v.im)
        for f in (
            lambda t: F.max_pool2d(t, 2),
            lambda t: F.avg_pool2d(t, 2),
            lambda t: F.adaptive_avg_pool2d(t, 2),
            lambda t: F.adaptive_avg_pool2d(t, 1),
        )
    ],
    "dropout": lambda m, F, v: (
        m.autograd.grad(F.dropout(v.x, 0.5).sum(), v.x),
        F.dropout(v.x, 0.5, False),
    ),
    "embedding": lambda m, F, v: F.embedding(m.tensor([0, 1]), v.w).sum().backward(),
    "attention": lambda m, F, v: F.scaled_dot_product_attention(
        m.ones(2, 2, 3, 4), m.ones(2, 2, 3, 4), m.ones(2, 2, 3, 4), is_causal=True
    ),
    "joined": lambda m, F, v: (
        m.autograd.grad(m.cat([v.x, v.x * 2]).sum(), v.x),
        m.autograd.grad(m.stack([v.x, v.x * 2]).sum(), v.x),
    ),
    "chosen": lambda m, F, v: (
        m.autograd.grad(m.where(v.y > 0, v.x, 0.0).sum(), v.x),
        m.autograd.grad(v.x.masked_fill(v.y > 0, 0.0).sum(), v.x),
    ),
    "clamped": lambda m, F, v: v.x.clamp(min=0).sum().backward(),
    "gradients of views": lambda m, F, v: [
        m.autograd.grad(f(v.x).sum(), v.x)
        for f in (lambda t: t[0], lambda t: t[:, 1:], lambda t: t.max(1)[0])
    ],
    "gradients of places": lambda m, F, v: v.x[m.tensor([0, 0])].sum().backward(),
    "spread": lambda m, F, v: v.b.expand(3, 5).sum().backward(),
    "variance": lambda m, F, v: (
        m.autograd.grad(v.x.var(0).sum(), v.x),
        m.autograd.grad(v.x.mean(0).sum(), v.x),
        m.autograd.grad(v.x.cumsum(0).sum(), v.x),
    ),
    "gradients asked for": lambda m, F, v: m.autograd.grad((v.x * 2).sum(), v.x),
    "second derivatives": lambda m, F, v: m.autograd.grad(
        m.autograd.grad((v.x**3).sum(), v.x, create_graph=True)[0].sum(), v.x
    ),
    "module": lambda m, F, v: m.nn.Sequential(m.nn.Linear(4, 2), m.nn.ReLU(), m.nn.LayerNorm(2))(
        v.y
    ),
}


class _Values:
    def __init__(self, m):
        m.manual_seed(0)
        self.y, self.s = m.randn(3, 4), m.randn(2, 3, 4)
        self.x, self.w, self.b, self.im = (
            m.randn(*shape, requires_grad=True) for shape in ((3, 4), (5, 4), (5,), (2, 3, 8, 8))
        )


def _told(module, program):
    """Names and shapes of the operators that a mode is told of.

    PyTorch takes a gradient that nobody else holds into `.grad` by `detach`, where Pellucid copies
    it, after everything else.
    """
    dispatch = importlib.import_module(f"{module.__name__}.utils._python_dispatch")
    told = []

    def shown(value):
        if isinstance(value, module.Tensor):
            return list(value.shape), str(value.dtype).rpartition(".")[2]
        if isinstance(value, (list, tuple)):
            return [shown(v) for v in value]
        return (
            round(value, 3)
            if isinstance(value, float)
            else str(value).replace("pellucid.", "torch.")
        )

    class Log(dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            made = func(*args, **(kwargs or {}))
            if func.overloadpacket not in (module.ops.aten.detach, module.ops.aten.clone):
                named = sorted((k, shown(v)) for k, v in (kwargs or {}).items())
                told.append(
                    (
                        str(func),
                        shown(args),
                        named,
                        [] if str(func).startswith("aten._local") else shown(made),
                    )
                )
            return made

    with Log():
        program(module, module.nn.functional, _Values(module))
    return told


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_what_a_mode_is_told(program):
    got, wanted = _told(pellucid, program), _told(oracle, program)
    assert sorted(map(str, got)) == sorted(map(str, wanted))
    forward = next(
        (k for k, op in enumerate(wanted) if op[0] == "aten.ones_like.default"), len(wanted)
    )
    assert got[:forward] == wanted[:forward]
