"""Programs that compile a part of what they do, as people write them: the model, the optimizer's
step, a decode loop, a second-order step.

Each case is a function of a library and its `compile`, or None for eager, and gives what is timed.
`compile.py --styles` runs them.
"""

from __future__ import annotations

import numpy as np


def _whole(f):
    return f


def _data(lib, seed, *shapes):
    draw = np.random.default_rng(seed)
    return [lib.from_numpy(draw.standard_normal(s).astype(np.float32)) for s in shapes]


# ---- the model compiled; loss, backward and optimizer outside ------------------------------------------
def model_alone(parts, kind=None):
    """`parts` makes model, optimizer, loss, x, y."""

    def make(lib, compile):
        lib.manual_seed(0)
        model, optimizer, loss_of, x, y = parts(lib)
        if kind is not None:
            model.to(getattr(lib, kind))
            x = x.to(getattr(lib, kind)) if x.is_floating_point() else x
        run = compile(model) if compile else model

        def step():
            optimizer.zero_grad()
            loss = loss_of(run(x), y)
            loss.backward()
            optimizer.step()
            return loss

        return step

    return make


def whole_step(parts, kind=None):
    """The same, compiled as a whole."""

    def make(lib, compile):
        lib.manual_seed(0)
        model, optimizer, loss_of, x, y = parts(lib)
        if kind is not None:
            model.to(getattr(lib, kind))
            x = x.to(getattr(lib, kind)) if x.is_floating_point() else x

        def step(x, y):
            optimizer.zero_grad()
            loss = loss_of(model(x), y)
            loss.backward()
            optimizer.step()
            return loss

        run = (
            compile(step)
            if compile and lib.__name__ == "pellucid"
            else model_alone(parts, kind)(lib, compile)
        )
        return (lambda: run(x, y)) if compile and lib.__name__ == "pellucid" else run

    return make


def chain(lib, compile):
    from compile import chain_of

    x = lib.linspace(-3, 3, 2_000_000).requires_grad_()
    f = (compile or _whole)(lambda v: chain_of(lib, v))

    def step():
        x.grad = None
        f(x).backward()

    return step


def chain_tensor(lib, compile):
    x = lib.linspace(-3, 3, 500_000).requires_grad_()
    f = (compile or _whole)(lambda v: lib.tanh(v) * lib.sigmoid(v) + v * 0.5)

    def step():
        x.grad = None
        f(x).sum().backward()

    return step


# ---- the optimizer's step alone --------------------------------------------------------------------------
def optimizer_alone(name, **options):
    def make(lib, compile):
        lib.manual_seed(0)
        nn = lib.nn
        model = nn.Sequential(
            *[layer for _ in range(6) for layer in (nn.Linear(64, 64), nn.ReLU())]
        )
        optimizer = getattr(lib.optim, name)(model.parameters(), **options)
        model(lib.randn(8, 64)).pow(2).mean().backward()
        return compile(optimizer.step) if compile else optimizer.step

    return make


# ---- decode loops ------------------------------------------------------------------------------------------
def own_cache(layers=2, width=64, heads=4, steps=48):
    """A small GPT with a cache of its own, which `torch.cat` lets grow."""

    def make(lib, compile):
        lib.manual_seed(0)
        nn, F = lib.nn, lib.nn.functional

        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.n1, self.n2 = nn.LayerNorm(width), nn.LayerNorm(width)
                self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
                self.f1, self.f2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

            def forward(self, x, past):
                b, t, _ = x.shape
                q, k, v = (
                    z.view(b, t, heads, -1).transpose(1, 2)
                    for z in self.qkv(self.n1(x)).chunk(3, -1)
                )
                if past is not None:
                    k, v = lib.cat([past[0], k], 2), lib.cat([past[1], v], 2)
                y = F.scaled_dot_product_attention(q, k, v)
                x = x + self.out(y.transpose(1, 2).reshape(b, t, width))
                return x + self.f2(F.gelu(self.f1(self.n2(x)))), (k, v)

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.tokens, self.places = nn.Embedding(65, width), nn.Embedding(256, width)
                self.blocks = nn.ModuleList(Block() for _ in range(layers))
                self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 65)

            def forward(self, ids, place, caches):
                x = self.tokens(ids) + self.places(place)
                made = []
                for block, past in zip(self.blocks, caches, strict=True):
                    x, kept = block(x, past)
                    made.append(kept)
                return self.head(self.norm(x[:, -1])), made

        model = Model().eval()
        run = compile(model) if compile else model
        first = lib.tensor([[1], [2]])

        def decode():
            ids, caches = first, [None] * layers
            with lib.no_grad():
                for k in range(steps):
                    scores, caches = run(ids, lib.tensor([[k]]), caches)
                    ids = scores.argmax(-1, keepdim=True)
            return ids

        return decode

    return make


def own_generate(layers=2, width=64, heads=4, steps=48):
    """Greedy decoding without a cache: the sequence is an argument that grows."""

    def make(lib, compile):
        from models import transformer

        lib.manual_seed(0)
        model = transformer(lib, 65, width, heads, layers, 64).eval()
        run = compile(model, dynamic=True) if compile else model
        first = lib.tensor([[1]])

        def decode():
            ids = first
            with lib.no_grad():
                for _ in range(steps):
                    ids = lib.cat([ids, run(ids)[-1:].argmax(-1, keepdim=True)], 1)
            return ids

        return decode

    return make


def generate(kind, implementation="dynamic"):
    """`generate` of a tiny model of transformers, which sees one library in a process:
    `pellucid run benchmarks/compile.py --styles` for ours.
    """

    def make(lib, compile):
        import torch
        import transformers

        if torch.nn is not lib.nn:
            raise ImportError(
                f"transformers uses {torch.__name__} {torch.__version__} in this process"
            )

        lib.manual_seed(0)
        if kind == "gpt2":
            config = transformers.GPT2Config(
                vocab_size=100,
                n_positions=128,
                n_embd=64,
                n_layer=2,
                n_head=4,
                bos_token_id=0,
                eos_token_id=None,
            )
            model = transformers.GPT2LMHeadModel(config)
        else:
            config = transformers.LlamaConfig(
                vocab_size=100,
                hidden_size=64,
                intermediate_size=128,
                num_hidden_layers=2,
                num_attention_heads=4,
                num_key_value_heads=2,
                max_position_embeddings=128,
                bos_token_id=0,
                eos_token_id=None,
            )
            model = transformers.LlamaForCausalLM(config)
        model.eval()
        model.generation_config.pad_token_id = 0
        if compile:
            model.forward = compile(model.forward)
        ids = lib.tensor([[1, 2, 3, 4]])
        mask = lib.ones_like(ids)
        return lambda: model.generate(
            ids,
            attention_mask=mask,
            max_new_tokens=32,
            min_new_tokens=32,
            do_sample=False,
            cache_implementation=implementation,
        )

    return make


# ---- lengths that change ---------------------------------------------------------------------------------
def lengths(lib, compile):
    """Sentences of forty lengths through one model that is compiled with `dynamic=True`."""
    lib.manual_seed(0)
    nn = lib.nn
    model = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 8))
    optimizer = lib.optim.SGD(model.parameters(), lr=0.01)
    run = compile(model, dynamic=True) if compile else model
    inputs = _data(lib, 0, *[(4, n, 32) for n in range(10, 50)])

    def work():
        for x in inputs:
            optimizer.zero_grad()
            run(x).pow(2).mean().backward()
            optimizer.step()

    return work


# ---- second order ------------------------------------------------------------------------------------------
def pinn(kind="float32", points=256, width=32):
    """A physics-informed network: the heat equation's residual, with two derivatives of the
    network.
    """

    def make(lib, compile):
        lib.manual_seed(0)
        nn = lib.nn
        model = nn.Sequential(
            nn.Linear(2, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1)
        )
        x, t = _data(lib, 0, (points, 1), (points, 1))
        dtype = getattr(lib, kind)
        model, x, t = model.to(dtype), x.to(dtype), t.to(dtype)
        optimizer = lib.optim.Adam(model.parameters())
        x.requires_grad_()
        t.requires_grad_()

        def step():
            optimizer.zero_grad()
            u = model(lib.cat([x, t], 1))
            ux, ut = lib.autograd.grad(u.sum(), [x, t], create_graph=True)
            (uxx,) = lib.autograd.grad(ux.sum(), [x], create_graph=True)
            loss = (ut - 0.1 * uxx).pow(2).mean() + (u - lib.sin(x)).pow(2).mean()
            loss.backward()
            optimizer.step()
            return loss

        return compile(step) if compile else step

    return make


def wgan(talks=False, batch=64):
    """A critic's step with a gradient penalty; `talks` prints the loss's parts in the middle."""

    def make(lib, compile):
        lib.manual_seed(0)
        nn = lib.nn
        critic = nn.Sequential(
            nn.Linear(64, 128),
            nn.LeakyReLU(0.2),
            nn.Linear(128, 128),
            nn.LeakyReLU(0.2),
            nn.Linear(128, 1),
        )
        maker = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64))
        optimizer = lib.optim.Adam(critic.parameters(), betas=(0.0, 0.9))
        (real,) = _data(lib, 0, (batch, 64))

        def step(real):
            fake = maker(lib.randn(batch, 16)).detach()
            mix = lib.rand(batch, 1)
            between = (mix * real + (1 - mix) * fake).requires_grad_()
            scores = critic(between)
            (slope,) = lib.autograd.grad(scores, between, lib.ones_like(scores), create_graph=True)
            penalty = (slope.norm(2, dim=1) - 1).pow(2).mean()
            wasserstein = critic(fake).mean() - critic(real).mean()
            if talks:
                print(f"{wasserstein.item():.3f} {penalty.item():.3f}", file=NOWHERE)
            loss = wasserstein + 10 * penalty
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss

        run = compile(step) if compile else step
        return lambda: run(real)

    return make


class _Nowhere:
    def write(self, text):
        """Take it."""

    def flush(self):
        """Nothing waits."""


NOWHERE = _Nowhere()


def talking_layer(lib, compile):
    """A print in a submodule's forward, and a whole step around it."""
    lib.manual_seed(0)
    nn, F = lib.nn, lib.nn.functional

    class Talking(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = nn.Linear(128, 128), nn.Linear(128, 128)

        def forward(self, x):
            x = F.gelu(self.one(x))
            print("hidden", tuple(x.shape), file=NOWHERE)
            return F.gelu(self.two(x))

    model = nn.Sequential(
        nn.Linear(32, 128), nn.GELU(), Talking(), nn.LayerNorm(128), nn.Linear(128, 10)
    )
    optimizer = lib.optim.Adam(model.parameters())
    (x,) = _data(lib, 0, (64, 32))
    y = lib.arange(64) % 10

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    run = compile(step) if compile else step
    return lambda: run(x, y)


def talking_inference(lib, compile):
    """A print in a submodule's forward, without gradients."""
    lib.manual_seed(0)
    nn, F = lib.nn, lib.nn.functional

    class Talking(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = nn.Linear(128, 128), nn.Linear(128, 128)

        def forward(self, x):
            x = F.gelu(self.one(x))
            print("hidden", tuple(x.shape), file=NOWHERE)
            return F.gelu(self.two(x))

    model = nn.Sequential(
        nn.Linear(32, 128),
        nn.GELU(),
        nn.LayerNorm(128),
        Talking(),
        nn.LayerNorm(128),
        nn.Linear(128, 10),
    ).eval()
    (x,) = _data(lib, 0, (64, 32))
    run = compile(model) if compile else model

    def work():
        with lib.no_grad():
            return run(x)

    return work


def cases():
    """Title, maker and goal of each case: of the time of the faster of PyTorch and torch.compile."""
    from compile import cnn, gpt, lstm, mlp, resnet

    small, middle, large = mlp((20, 32, 4), 16), mlp((784, 128, 10), 128), mlp((784, 1024, 10), 512)
    return {
        "model_mlp16": ("model compiled: MLP 16x20-32-4, Adam", model_alone(small), 0.5),
        "model_mlp128": ("model compiled: MLP 128x784-128-10, Adam", model_alone(middle), 0.7),
        "model_mlp512": ("model compiled: MLP 512x784-1024-10, Adam", model_alone(large), 0.9),
        "model_cnn": ("model compiled: MNIST CNN batch 64, Adam", model_alone(cnn), 0.5),
        "model_gpt": ("model compiled: GPT 4 layers, 12x64, Adam", model_alone(gpt), 0.65),
        "model_resnet": ("model compiled: residual CNN, SGD", model_alone(resnet), 0.7),
        "model_lstm": ("model compiled: LSTM 2x128, 20x35, Adam", model_alone(lstm), 0.75),
        "model_chain": ("chain of 2 million values to a scalar", chain, 1.0),
        "model_tensor": ("chain of 500,000 values to a tensor", chain_tensor, 1.0),
        "double_mlp16": ("float64 MLP 16x20-32-4, whole step", whole_step(small, "float64"), 0.5),
        "double_mlp128": (
            "float64 MLP 128x784-128-10, whole step",
            whole_step(middle, "float64"),
            0.7,
        ),
        "double_cnn": ("float64 CNN, whole step", whole_step(cnn, "float64"), 0.7),
        "double_lstm": ("float64 LSTM, whole step", whole_step(lstm, "float64"), 0.7),
        "opt_adam": ("opt.step compiled: Adam, 12 parameters", optimizer_alone("Adam"), 0.5),
        "opt_sgd": (
            "opt.step compiled: SGD momentum",
            optimizer_alone("SGD", lr=0.01, momentum=0.9),
            0.5,
        ),
        "opt_adamw": ("opt.step compiled: AdamW", optimizer_alone("AdamW"), 0.5),
        "decode_cache": ("decode loop, caches by cat", own_cache(), 0.5),
        "decode_growing": ("decode loop, growing sequence", own_generate(), 0.5),
        "generate_gpt2": ("generate, tiny GPT-2, DynamicCache", generate("gpt2"), 0.5),
        "generate_llama": ("generate, tiny Llama, DynamicCache", generate("llama"), 0.5),
        "generate_static": ("generate, tiny Llama, StaticCache", generate("llama", "static"), 0.5),
        "lengths": ("forty lengths, dynamic=True", lengths, 0.7),
        "pinn": ("physics-informed network, two derivatives", pinn(), 0.5),
        "pinn64": ("the same in float64", pinn("float64"), 0.5),
        "wgan": ("WGAN-GP critic", wgan(), 0.5),
        "wgan_print": ("WGAN-GP critic with a print", wgan(True), 0.5),
        "talking": ("print in a submodule, whole step", talking_layer, 0.5),
        "talking_eval": ("print in a submodule, inference", talking_inference, 0.5),
    }
