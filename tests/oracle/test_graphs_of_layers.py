"""Layers and functions that programs use: their graphs are PyTorch's, and the strides of attention."""

import pytest

import pellucid

torch = pytest.importorskip("torch")

CALLS = """
nn.MultiheadAttention(8, 2, batch_first=True)(x, x, x)[0]
nn.MultiheadAttention(8, 2, batch_first=True)(x, x, x, need_weights=False)[0]
nn.MultiheadAttention(8, 2)(x, x, x)[1]
nn.MultiheadAttention(8, 2, bias=False)(x, x, x, need_weights=False)[0]
nn.MultiheadAttention(8, 2, dropout=0.1)(x, x, x)[0]
nn.MultiheadAttention(8, 2, kdim=4, vdim=4)(x, z, z)[0]
nn.MultiheadAttention(8, 2, add_bias_kv=True, add_zero_attn=True)(x, x, x)[0]
nn.MultiheadAttention(8, 2, batch_first=True)(x, x, x, attn_mask=seen.logical_not())[0]
nn.MultiheadAttention(8, 2, batch_first=True)(x, y, y, key_padding_mask=t.tensor([[False] * 3] * 2))[0]
nn.MultiheadAttention(8, 2, batch_first=True)(x, y, y, average_attn_weights=False)[1]
nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)(x)
nn.TransformerEncoderLayer(8, 2, 16, 0.0, norm_first=True, activation="gelu")(x)
nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)(x, src_mask=mask, is_causal=True)
nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)(x, y)
nn.TransformerDecoderLayer(8, 2, 16, batch_first=True, norm_first=True)(x, y, tgt_mask=mask)
nn.Transformer(8, 2, 1, 1, 16, batch_first=True)(x, y)
F.scaled_dot_product_attention(q, q, q)
F.scaled_dot_product_attention(q, q, q, is_causal=True)
F.scaled_dot_product_attention(q, q, q, attn_mask=seen)
F.scaled_dot_product_attention(q, q, q, attn_mask=t.zeros(5, 5))
F.scaled_dot_product_attention(q, q, q, dropout_p=0.1)
F.scaled_dot_product_attention(q, q, q, dropout_p=0.1, is_causal=True, scale=-0.5)
F.scaled_dot_product_attention(q, q[:, :1], q[:, :1], enable_gqa=True)
F.scaled_dot_product_attention(q.bfloat16(), q.bfloat16(), q.bfloat16())
nn.AdaptiveLogSoftmaxWithLoss(8, 10, [3, 6])(x[0], t.tensor([0, 4, 7, 9, 1]))[0]
F.affine_grid(t.rand(1, 2, 3, requires_grad=True), (1, 2, 3, 3), align_corners=False)
F.gumbel_softmax(x, hard=True)
F.scaled_dot_product_attention(x, x, x)
F.scaled_dot_product_attention(q, q, q[..., :2], is_causal=True)
F.scaled_dot_product_attention(q, q, q, attn_mask=t.zeros(5, 5, requires_grad=True))
F.cross_entropy(x[0], t.tensor([0, 4, 7, 3, 1]), label_smoothing=0.1)
nn.RMSNorm(8)(x)
nn.RNN(8, 4)(y)[0]
nn.RNN(8, 4, bias=False, bidirectional=True)(y)[1]
nn.GRU(8, 4, 2)(y)[1]
nn.GRU(8, 4, batch_first=True)(y)[0]
nn.GRU(8, 4)(y[0])[0]
nn.GRU(8, 4)(nn.utils.rnn.pack_padded_sequence(y, [2, 2, 1]))[1]
nn.RNN(8, 4, bidirectional=True)(nn.utils.rnn.pack_padded_sequence(y, [2, 1, 1]))[1]
nn.LSTM(8, 4, 2, batch_first=True, bidirectional=True)(y)[0]
nn.LSTM(8, 4).double()(y.double())[1][1]
nn.LSTM(8, 4)(nn.utils.rnn.pack_padded_sequence(y, [2, 2, 1]))[0].data
nn.LSTM(8, 4, proj_size=2)(y)[0]
nn.GRUCell(8, 4)(y[0])
nn.LSTMCell(8, 4, bias=False)(y[0])[0]
nn.LSTMCell(8, 4)(y[0])[1]
nn.RNNCell(8, 4, nonlinearity="relu")(y[0])
t.einsum("bij,bkj->bik", x, y)
t.einsum("bij,kj->bki", x, y[0].detach())
t.einsum("bij,kj->kbi", x, y[0])
t.einsum("bhid,bhjd->bhij", q, q)
t.einsum("bi,bj->bij", x[0], y[0, :1].expand(5, 8))
t.tensordot(x, y, dims=([2], [2]))
t.inner(x, y)
t.aminmax(x)[1]
t.aminmax(x, dim=1)[0]
t.unbind_copy(x, 1)[2]
t.linalg.lu(x)[2]
x[0].__rsub__(x[1])
1 - x
nn.Conv1d(5, 3, 4, padding="same")(x)
nn.Conv2d(2, 3, (2, 4), padding="same", bias=False)(q)
nn.Conv2d(2, 3, (3, 2), padding="same", dilation=(1, 3))(q.detach())
t.matmul(x[:1], y.mT)
t.matmul(x, y[:1].mT)
t.matmul(x, y[:1].mT.detach())
t.matmul(x[0], y[:, :1].mT)
t.matmul(x[0, :1], y.mT)
t.matmul(y[..., :4], q.mT.detach())
nn.Conv1d(5, 3, 3, padding=1, padding_mode="circular")(x)
F.pad(q, (1, 0, -1, 2), mode="circular")
t.combinations(x[0, 0], 3, with_replacement=True)
t.cdist(x.repeat(1, 6, 1), y)
t.cdist(x[0], y.repeat(1, 9, 1))
t.istft(t.view_as_complex(x.view(5, 8, 2)), 8, window=t.ones(8))
t.round(x, decimals=0)
t.special.round(x)
x.round()
nn.CrossMapLRN2d(2)(q)
F.triplet_margin_with_distance_loss(x, x + 1, x - 1)
F.triplet_margin_loss(x, x + 1, x - 1)
t.svd_lowrank(x[0], 2, M=y[0, 0])[1]
t.einsum("ijk,ik->j", x[:1], y[:1, 0])
t.einsum("...ik,...j->ij", x[0], z[1, 0])
t.einsum("ij,jk->k", x[0], z[0, :1].expand(8, 4))
t.einsum("iij,jk->ki", x[:, :2], q[0, 0, :, :1].expand(5, 4).repeat(2, 1)[:8])
"""


def text(node, index):
    if node is None:
        return "-"
    if node.name().endswith("AccumulateGrad"):
        return "x"
    inside = ", ".join(text(*edge) for edge in node.next_functions)
    return f"{node.name()}({inside})" + (f".{index}" if index else "")


def graph(library, call):
    library.manual_seed(0)
    sizes = {"x": (2, 5, 8), "y": (2, 3, 8), "z": (2, 5, 4), "q": (2, 2, 5, 4)}
    scope = {name: library.rand(size, requires_grad=True) for name, size in sizes.items()}
    scope |= {"t": library, "nn": library.nn, "F": library.nn.functional}
    scope["seen"] = library.ones(5, 5, dtype=library.bool).tril()
    scope["mask"] = library.nn.Transformer.generate_square_subsequent_mask(5)
    made = eval(call, scope)
    return text(made.grad_fn, made.output_nr)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", CALLS.strip().splitlines())
def test_graphs_are_pytorchs(call):
    assert graph(pellucid, call) == graph(torch, call)


LOOKED_AT = """
nn.GRU(8, 4, 2, bidirectional=True)(x)
nn.RNN(8, 4)(x)
nn.LSTM(8, 4).double()(x.double())[1]
nn.LSTMCell(8, 4)(x[0])
nn.GRUCell(8, 4)(x[0])
nn.GRU(8, 4)(nn.utils.rnn.pack_padded_sequence(x, [5, 3], batch_first=True))[1:]
F.scaled_dot_product_attention(x, x, x)
nn.RMSNorm(8)(x)
t.special.ndtr(x)
t.aminmax(x, dim=1)
t.linalg.lu(x)[1:]
nn.Conv1d(5, 3, 4, padding="same")(x)
t.matmul(x, y[:1].mT)
t.matmul(x[:1], y[0].expand(4, 3, 8).mT)
t.matmul(x[0, :1], y.mT)
t.einsum("bij,bkj->ikb", x, y)
t.einsum("bi,bj->ijb", x[0], y[0, :1].expand(5, 8))
F.pad(x, (1, 2), mode="circular")
F.pad(x[None], (1, 0, -1, 2), mode="circular")
t.combinations(x[0, 0], 3)
t.cdist(x.repeat(1, 6, 1), y)
t.cdist(x[0], y.repeat(1, 9, 1))
t.istft(t.view_as_complex(x.view(5, 8, 2)), 8, window=t.ones(8))
"""


@pytest.mark.parametrize("retained", [False, True])
@pytest.mark.parametrize("call", LOOKED_AT.strip().splitlines())
def test_gradients_are_the_same_for_those_who_look(call, retained):
    def gradients(look):
        pellucid.manual_seed(0)
        x, y = (pellucid.rand(2, n, 8, requires_grad=True) for n in (5, 3))
        scope = {"x": x, "y": y, "t": pellucid, "nn": pellucid.nn, "F": pellucid.nn.functional}
        made = eval(call, scope)
        made = made if isinstance(made, tuple) else (made,)
        # one use before somebody looks, and one after
        total = sum(t.pow(2).sum() for t in made)
        if look:
            for t in made:
                text(t.grad_fn, t.output_nr)
        total = total + sum((t**3).sum() for t in made)
        total.backward(retain_graph=retained)
        if retained:
            total.backward()
        return [t.grad for t in (x, y) if t.grad is not None]

    for a, b in zip(gradients(False), gradients(True), strict=True):
        pellucid.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)


def test_overwritten_arguments_are_seen_after_a_look():
    x = pellucid.rand(2, 5, 8, requires_grad=True)
    base = x * 1
    made = pellucid.nn.functional.rms_norm(base, (8,))
    text(made.grad_fn, 0)
    base.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        made.sum().backward()


def test_a_product_of_a_constant_is_looked_at_twice():
    node = pellucid.nn.Linear(3, 2, bias=False)(pellucid.rand(2, 3)).grad_fn
    assert node.next_functions[0] == node.next_functions[0] == (None, 0)


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (1, 2, 0, 3), (0, 2, 1, 3), (3, 0, 1, 2)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_attention_lies_in_memory_as_its_queries(order, dtype, dropout):
    def strides(library):
        base = library.rand(2, 3, 5, 4, dtype=getattr(library, dtype))
        q = base.permute(order).contiguous().permute([order.index(d) for d in range(4)])
        kwargs = {"dropout_p": dropout}
        attention = library.nn.functional.scaled_dot_product_attention
        return [
            attention(a, b, b, **kwargs).stride()
            for a, b in (
                (q, base),
                (base, q),
                (q[:, :, :3], base),
                (base[:, :1].expand(2, 3, 5, 4), q),
            )
        ]

    assert strides(pellucid) == strides(torch)
