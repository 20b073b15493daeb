"""Sessions as one types them, a statement a line, with both libraries: what each statement shows, or
the class and the text of its error, are equal.
"""

import ast
import re

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import pellucid  # noqa: E402

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

SESSIONS = {
    "typed storages": """
        t = torch.arange(6.)
        s = t.storage()
        s['a']
        s[10]
        s[-1], s[0:4:2]
        s[0] = 'a'
        s[9] = 1
        s[0:2] = 5; s.tolist()
        s[0:2] = [1, 2]
        s.fill_('a')
        s.foo
        s.is_sparse_csr
        s.get_device()
        s.copy_(torch.ones(4).storage())
        s.copy_(1)
        torch.FloatStorage('a')
        torch.FloatStorage([1, 'a'])
        torch.FloatStorage(torch.ones(2))
        torch.FloatStorage(wrap_storage=s)
        torch.FloatStorage(-1)
        torch.LongStorage(3.5)
        torch.FloatStorage(3).copy_(torch.IntStorage([4, 5, 6])).tolist()
        t.storage().share_memory_().size(), t.is_shared(), t.untyped_storage().is_shared()
    """,
    "untyped storages": """
        t = torch.arange(3.)
        u = t.untyped_storage(); len(u), u.get_device()
        u[0] = 1.5
        u[0] = 300; u[0]
        u[0:2] = 7; u.tolist()
        u['a']
        u[100]
        u[100] = 1
        u[0:4:2]
        u.byte(), u.int().size(), u.float8_e5m2().dtype
        u.fill_('a')
        u.resize_('a')
        u.copy_(torch.ones(4).untyped_storage())
        u.foo
        u.byteswap('a')
        u.byteswap(torch.int16); u.tolist()
        u.to(device='cpu') is u, u.new().size()
        t.untyped_storage() is t.untyped_storage()
        torch.UntypedStorage(3, 4)
        torch.UntypedStorage('a')
        torch.UntypedStorage([1, 300])
        torch.UntypedStorage([1.5])
        torch.UntypedStorage(1.5)
        torch.UntypedStorage(-1)
        torch.empty(2, device='meta').untyped_storage()[0]
        torch.zeros(1).set_(t.untyped_storage(), 1, (2,), ()).tolist()
    """,
    "meta": """
        q = torch.ones(2, device='meta')
        q.item()
        q[0].item()
        q.numpy()
        np.asarray(q)
        q.nonzero()
        q.equal(q)
        torch.ones(2).copy_(q)
        m = torch.nn.Linear(2, 2, device='meta')
        m.load_state_dict({'weight': torch.ones(2, 2), 'bias': torch.ones(2)})
    """,
    "devices": """
        torch.device()
        torch.device(1.5)
        torch.device(1.5, 2)
        torch.device([1])
        torch.device('cuda', 0, 0)
        torch.device('cuda', None)
        torch.device(type=3)
        torch.device(foo=3)
        torch.device('cpu', foo=3)
        torch.device(device=1.5)
        torch.device(type='cuda', index='a')
        torch.ones(1).to('xpu')
    """,
    "settings": """
        torch.set_default_tensor_type('foo')
        torch.set_default_tensor_type('torch.Foo')
        torch.set_default_tensor_type(5)
        torch.set_printoptions(profile='no such')
        torch.set_warn_always('a')
        torch.use_deterministic_algorithms('a')
        torch.use_deterministic_algorithms(True, warn_only=1)
        torch.are_deterministic_algorithms_enabled()
    """,
    "split": """
        x = torch.ones(4, 2, requires_grad=True)
        x.split([1, 3])[0].grad_fn.name(), x.split_with_sizes([1, 3])[0].grad_fn.name()
        torch.split(x, np.int64(2))
        x.split('a')
        x.split(2.0)
        x.split([1.0, 2])
        x.split(torch.tensor([1, 3]))
        x.split([1, 2], 'a')
        x.split(torch.tensor(2))[0].shape, x.split(torch.tensor(2.0))[0].shape
    """,
    "losses": """
        lp = torch.zeros(4, 1, 3).log_softmax(2)
        F.ctc_loss(lp, torch.tensor([[1, 2]]), [4], [2], reduction='sum')
        F.ctc_loss(lp, torch.tensor([[1, 2]]), [4.0], [2])
        F.ctc_loss(lp, torch.tensor([[1, 2]]), [], [2])
        F.ctc_loss('a', torch.tensor([[1, 2]]), [4], [2])
        F.ctc_loss(lp, None, [4], [2])
        F.ctc_loss(lp, torch.tensor([[1, 2]]), [4], [2], 'a')
    """,
    "types in texts": """
        F.conv2d(torch.ones(1, 1, 3, 3).bfloat16(), torch.ones(1, 1, 2, 2))
        F.conv2d(torch.ones(2, 1, 3, 3), torch.ones(1, 1, 2, 2).bool())
        F.embedding(torch.tensor([1j]), torch.ones(2, 2))
        F.dropout(torch.ones(3).bool())
        F.dropout(torch.ones(3).int())
        F.dropout(torch.ones(3), 'a')
        torch.stft(torch.ones(40), 9, window=torch.ones(3), return_complex=True)
        torch.istft(torch.ones(5, 3) + 0j, 9, window=torch.ones(3))
        torch.searchsorted(torch.ones(3), torch.ones(2), sorter=torch.ones(2).long())
    """,
    "activations": """
        x = torch.arange(-2., 2.)
        torch.rrelu(x, .1, .3, True, torch.Generator().manual_seed(3))
        torch.rrelu_(x.clone(), .1, .3, True, torch.Generator().manual_seed(3))
        torch.rrelu(x, inplace=True)
        F.rrelu(x, generator=1)
        F.elu_(x.clone(), 1, 2, 3)
        F.elu_(torch.ones(2, requires_grad=True) * 1, 1, 2, 3).grad_fn.name()
    """,
    "nodes of in-place functions": """
        x = torch.full((2, 1), .5, requires_grad=True)
        v = torch.tensor(2., requires_grad=True)
        def name(y): return y.grad_fn.name(), [e and e.name() for e, _ in y.grad_fn.next_functions]
        name((x * 1).fill_(v)), name((x * 1).fill_(2)), name((x * 1).zero_()), name(torch.fill(x, 1))
        name((x * 1).squeeze_()), name((x * 1).squeeze_(1)), name((x * 1).squeeze_((1,)))
        name((x * 1).t_()), name((x * 1).swapaxes_(0, 1)), name((x * 1).unsqueeze_(0))
        name((x * 1).copy_(x)), name((x * 1).copy_(torch.ones(1)))
        name((x * 1).uniform_()), name((x * 1).normal_()), name((x * 1).exponential_())
        name((x * 1).bernoulli_()), name((x * 1).log_normal_())
        name((x * 1).atanh_()), name((x * 1).arcsinh_())
        name(F.elu_(x * 1)), name(F.selu_(x * 1)), name(F.celu_(x * 1)), name(F.leaky_relu_(x * 1))
        name(F.threshold_(x * 1, .1, .2)), name(F.relu_(x * 1))
        name(x // 2), (x // 2).grad_fn
    """,
    "sparse": """
        v = torch.tensor([3., 4., 5.], requires_grad=True)
        s = torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], v, (2, 3))
        s.coalesce()
        s.transpose(0, 1)
        torch.stack([s, s]).grad_fn.name(), s.unbind()[0].grad_fn.name()
        c = torch.tensor([[1., 2.], [0., 4.]]).to_sparse_csr()
        c[0], c[:, 1], c[0, 1], c.to_sparse_csc()[1]
        torch.ones_like(c), torch.ones_like(c, dtype=torch.int)
        torch.empty_like(c)._nnz(), torch.zeros_like(c)._nnz()
        torch.ones_like(torch.ones(4, 4).to_sparse_bsr((2, 2)))
        c.requires_grad_().sum(0, keepdim=True).grad_fn.name()
        torch.sparse.mm(c.detach(), torch.ones(2, 2), reduce='foo')
        torch.sparse_bsr_tensor([0, 1, 2], [0, 1], torch.ones(2, 2))
        e = torch.nn.Embedding(5, 2, sparse=True)
        e(torch.tensor([1, 1, 3])).sum().backward()
        torch.optim.LBFGS(e.parameters()).step(lambda: e(torch.tensor([1])).sum())
        e.weight.detach()
    """,
    "modules": """
        m = torch.nn.Linear(2, 2)
        m.load_state_dict(m.state_dict(), foo=1)
        m.to(5)
        torch.nn.Sequential(torch.nn.ReLU()) * 'a'
        torch.nn.UninitializedParameter() + 1
        torch.func.functional_call(m, {'foo': torch.ones(2, 2)}, torch.ones(1, 2)).shape
        m.foo
        torch.func.vmap(lambda t: t.new_tensor(0) if repr(t) == '' else t)(torch.ones(2)).shape
        seen = []
        torch.func.vmap(lambda t: seen.append(repr(t)) or t)(torch.ones(2, 2)).shape
        seen
    """,
    "backward": """
        x = torch.ones(2, requires_grad=True)
        torch.autograd.backward(x.sum(), inputs=5)
        torch.autograd.backward(x.sum(), grad_variables=torch.ones(()), grad_tensors=torch.ones(()))
        u = x.clone(); s = u[0:1]; u.mul_(2); s.grad_fn.name(), s.grad_fn.next_functions[0][0].name()
    """,
    "files": """
        import io, pickle
        def rt(o): b = io.BytesIO(); torch.save(o, b); b.seek(0); return torch.load(b)
        rt(lambda: 1)
        torch.load(5)
        torch.load(io.BytesIO(b''))
        b = io.BytesIO(); torch.save(torch.ones(1), b); _ = b.seek(0); torch.load(b, map_location=5)
        torch.serialization.location_tag(torch.ones(1).untyped_storage())
        torch.serialization.default_restore_location(torch.ones(1).untyped_storage(), 'foo')
    """,
    "pipes": """
        from torch.utils.data.datapipes.iter import IterableWrapper
        p = IterableWrapper(range(6))
        p.map(5)
        p.map(lambda a, b: a)
        p.filter(5)
        p.demux(2, 5)
        p.groupby(5)
        list(p.map(lambda a, b=1: a * b))
    """,
    "exchange and observers": """
        torch.from_dlpack(5)
        torch.func.grad(lambda t: (t ** 2).sum())(torch.ones(2).int())
        o = torch.ao.quantization.MinMaxObserver()
        _ = o(torch.tensor([1., -2.]))
        o.calculate_qparams()
        s = torch.ao.quantization.MinMaxObserver(dtype=torch.qint8, qscheme=torch.per_tensor_symmetric)
        _ = s(torch.tensor([1., -2.]))
        s.calculate_qparams()
    """,
    "indices": """
        x = torch.arange(6.).view(2, 3)
        torch.take_along_dim(x, torch.tensor([1, 0], dtype=torch.int32))
        torch.take_along_dim(x, torch.tensor([1., 0]))
        torch.take_along_dim(x, torch.tensor([[1.], [0]]), 1)
        torch.repeat_interleave(x, 2, output_size=11)
        torch.repeat_interleave(x, 2, dim=1, output_size=6)
    """,
    "eight bits": """
        x = torch.tensor([448., 500., -1e5, float('inf'), float('nan')])
        x.to(torch.float8_e4m3fn), x.half().to(torch.float8_e4m3fn).float(), torch.tensor([600], dtype=torch.float8_e4m3fn)
        torch.zeros(5, dtype=torch.float8_e4m3fn).copy_(x), x.to(torch.float8_e5m2)
        torch.ones(2, 2).to(torch.float8_e4m3fn) @ torch.ones(2, 2).to(torch.float8_e4m3fn)
        torch.arange(3, dtype=torch.float8_e5m2)
        torch.arange(3, dtype=torch.uint16)
    """,
    "subclasses": """
        class S(torch.Tensor): __torch_function__ = classmethod(lambda c, f, t, a=(), k=None: torch.Tensor.__torch_function__.__func__(c, f, t, a, k))
        s = torch.ones(1, 2).as_subclass(S)
        [type(v).__name__ for v in (s.T, s.mT, s.data, s.real, s[0], s.grad, s.view(2)._base)]
        s.as_subclass(int)
        class B: __torch_function__ = classmethod(lambda c, f, t, a=(), k=None: NotImplemented)
        torch.add(B(), 1)
        torch.ones(1).add(B())
        torch.ones(1)[B()]
        torch.linalg.inv(B()), torch.fft.fft(B())
        torch.special.erf(B())
        F.relu(B())
        F.linear(B(), B())
        torch.einsum('i', B())
    """,
    "signal and special": """
        torch.fft.fftfreq(-2)
        torch.fft.fftfreq(3, dtype=torch.int)
        torch.fft.rfftfreq(0), torch.fft.rfftfreq(-3)
        torch.igamma(torch.tensor([1, 2]), torch.tensor([1, 2]))
        torch.igammac(torch.tensor([1, 2]), torch.tensor([1.]))
        torch.istft(torch.ones(3, 3) + 0j, 4, window=torch.zeros(4))
        torch.einsum(torch.ones(2, 2), [0, 60])
        torch.einsum(torch.ones(2, 2), [0, 'a'])
        torch.einsum(torch.ones(2, 2), [0, 1.5])
        torch.einsum(torch.ones(2), [0], torch.ones(2))
        torch.linalg.vecdot(torch.ones(3), torch.ones(2))
        torch.linalg.vecdot(torch.ones(3), torch.ones(1))
        torch.linalg.multi_dot([torch.ones(2, 2), torch.ones(2, 2), torch.ones(3)])
        torch.linalg.lu(torch.eye(2), pivot=False)
        torch.linalg.eigvalsh(torch.tensor([[1., float('nan')], [0., 2.]]))
    """,
    "arguments of modules and optimizers": """
        from torch.nn.utils import prune
        p = [nn.Parameter(torch.ones(2))]
        torch.optim.SGD(p, lr=.1, differentiable=True, fused=True)
        torch.optim.Optimizer(p, {}).step()
        torch.optim.SGD(p, lr=.1).load_state_dict(5)
        prune.custom_from_mask(nn.Linear(2, 2), 'weight', torch.ones(3))
        prune.global_unstructured(5, pruning_method=prune.L1Unstructured, amount=.5)
        nn.Unflatten('a', (1,))
        nn.Unflatten('a', (('b', 1),))
        nn.ReflectionPad2d(3)(torch.ones(1, 3, 3))
        nn.Hardtanh(1, 0)
        nn.Bilinear(0, 2, 3)
        nn.EmbeddingBag(3, 2)(torch.tensor([1]), torch.tensor([1]))
        F.embedding_bag(torch.tensor([0, 1, 2]), torch.eye(3), torch.tensor([0, 2]), mode='sum', include_last_offset=True)
        F.embedding_bag(torch.tensor([0]), torch.eye(3), torch.tensor([]).long(), include_last_offset=True)
        torch.distributions.Distribution.set_default_validate_args(3)
        torch.distributions.kl_divergence(torch.distributions.Normal(0, 1), torch.distributions.Poisson(1.))
        list(torch.utils.data.Sampler())
        torch.profiler.profile(activities=[])
        torch.profiler.ProfilerActivity.CUDA
        torch.utils.checkpoint.checkpoint(torch.sin, p[0], use_reentrant=False, determinism_check='foo')
        torch.utils.checkpoint.checkpoint_sequential(5, 1, p[0], use_reentrant=False)
        torch._tensor_str.PRINT_OPTS
    """,
    "masks, pads and grids": """
        a = torch.ones(2, 3)
        F.scaled_dot_product_attention(a, a, a, attn_mask=torch.ones(3, 3))
        F.scaled_dot_product_attention(a.view(1, 1, 2, 3), a.view(1, 1, 2, 3), a.view(1, 1, 2, 3), attn_mask=torch.ones(5, 5).bool())
        F.scaled_dot_product_attention(a, a, a, attn_mask=torch.ones(2, 1)).shape
        F.pad(a, (-3, -3))
        F.pad(a, (2, -8))
        F.pad(a, (1, -3, -2, 1)).shape
        F.affine_grid(torch.ones(1, 3, 3), [1, 1, 2, 2])
        F.affine_grid(torch.ones(1, 2, 3), torch.Size([1, 1, 0, 2]))
        F.max_unpool2d(torch.ones(1, 1, 1, 1), torch.zeros(1, 1, 1, 1).long(), 2, output_size=(5, 5))
        F.linear(a, torch.ones(2, 4).double(), torch.ones(2).double())
        F.linear(a, torch.ones(2, 4), torch.ones(2))
        nn.Linear(2, 2).to(torch.float, torch.double)
        torch.autograd.set_detect_anomaly(5)
        torch.gradient(torch.ones(3).bool())
        torch.repeat_interleave(torch.tensor([1, 2]).int())
        torch.ones(3).repeat_interleave(torch.tensor([1., 2.]))
        torch.round(torch.tensor([1.453125, .2578125]).bfloat16(), decimals=1)
    """,
    "kinds of tensors": """
        n = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
        n[5]
        torch.cat([n, n])
        torch.cat([n, torch.ones(2, 2)])
        torch.nested.nested_tensor([torch.ones(2), torch.ones(2, 2)])
        torch.nested.nested_tensor([torch.ones(2).int(), torch.ones(2) * 1.5])
        torch.eye(2).to_sparse().nnz
        torch.quantize_per_tensor(torch.ones(2), .1, 0, torch.quint8).foo
        torch.func.jacfwd(lambda x: 5)(torch.ones(2))
        torch.ones(2).mul_(2).mul_()
    """,
    "precision and files": """
        import io
        a = torch.ones(2, 2)
        with torch.autocast('cpu', dtype=torch.float16), torch.autocast('cpu'): seen = (a @ a).dtype
        seen, torch.get_autocast_dtype('cpu')
        with torch.autocast('cpu', dtype=torch.float16), torch.autocast('cpu', enabled=False): seen = (a @ a).dtype, torch.get_autocast_dtype('cpu')
        seen, torch.get_autocast_dtype('cpu')
        b = io.BytesIO(); torch.save(nn.Linear(1, 1), b); _ = b.seek(0); torch.serialization.get_unsafe_globals_in_checkpoint(b)
        torch.compile(5)
        torch.compile(torch.sin, mode='foo')
        torch.signal.windows.blackman(3), torch.signal.windows.nuttall(5), torch.signal.windows.kaiser(4, beta=0.)
        torch.signal.windows.exponential(1, center=.5, sym=False), torch.signal.windows.general_cosine(3, a=(1, 2))
    """,
    "norms and ranks": """
        s = torch.eye(3).to_sparse()
        torch.native_norm(s, 1), torch.native_norm(s, 2, [0, 1], False, None)
        torch.native_norm(s, 2, [0], False, None)
        torch.is_distributed(5)
        import warnings
        with warnings.catch_warnings(record=True) as w: warnings.simplefilter('always'); r = torch.linalg.matrix_rank(torch.ones(3, 3), torch.ones(2))
        r, [str(x.message).split(' (Trig')[0] for x in w]
    """,
}


def plain(text):
    return re.sub(r"0x[0-9a-f]+", "0x", text.replace("pellucid", "torch"))


def session(library, text):
    """What each statement shows, with the statement."""
    names = {"torch": library, "np": np, "nn": library.nn, "F": library.nn.functional}
    library.manual_seed(0)
    found = []
    for line in text.replace("from torch", f"from {library.__name__}").split("\n"):
        for statement in ast.parse(line.strip()).body:
            code = ast.unparse(statement).replace("pellucid", "torch")
            try:
                if isinstance(statement, ast.Expr):
                    said = plain(repr(eval(ast.unparse(statement), names)))
                else:
                    said = exec(ast.unparse(statement), names)
            except Exception as error:
                said = type(error).__name__, plain(str(error))
            found.append((code, said))
    return found


@pytest.fixture(autouse=True)
def settings():
    yield
    for library in (torch, pellucid):
        library.use_deterministic_algorithms(False)
        library.set_printoptions(profile="default")


@pytest.mark.parametrize("name", SESSIONS)
def test_shows_the_same(name):
    for ours, theirs in zip(
        session(pellucid, SESSIONS[name]), session(torch, SESSIONS[name]), strict=True
    ):
        assert ours == theirs
