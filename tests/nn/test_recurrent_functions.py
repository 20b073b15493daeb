"""Recurrent networks as functions of their weights, against the modules; names that older code
reaches for.
"""

import pytest

import pellucid as torch


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("batch_first", [False, True])
def test_networks(kind, bidirectional, batch_first):
    torch.manual_seed(0)
    net = getattr(torch.nn, kind)(3, 4, 2, bidirectional=bidirectional, batch_first=batch_first)
    x = torch.randn(2, 5, 3)
    rows, batch = 2 * (1 + bidirectional), 2 if batch_first else 5
    states = [torch.randn(rows, batch, 4) for _ in range(2 if kind == "LSTM" else 1)]
    hx = tuple(states) if kind == "LSTM" else states[0]
    name = {"RNN": "rnn_tanh"}.get(kind, kind.lower())
    out, *last = getattr(torch._VF, name)(
        x, hx, list(net.parameters()), True, 2, 0.0, False, bidirectional, batch_first
    )
    wanted, end = net(x, hx)
    assert torch.equal(out, wanted)
    assert all(
        torch.equal(a, b) for a, b in zip(last, end if kind == "LSTM" else [end], strict=True)
    )


def test_packed_and_projected():
    torch.manual_seed(0)
    net = torch.nn.LSTM(3, 4, bias=False, proj_size=2)
    packed = torch.nn.utils.rnn.pack_sequence([torch.randn(4, 3), torch.randn(2, 3)])
    h, c = torch.zeros(1, 2, 2), torch.zeros(1, 2, 4)
    out, hn, _ = torch.lstm(
        packed.data, packed.batch_sizes, (h, c), list(net.parameters()), False, 1, 0.0, False, False
    )
    wanted, (end, _) = net(packed)
    assert torch.equal(out, wanted.data) and torch.equal(hn, end)


def test_wrong_weights_are_refused():
    with pytest.raises(RuntimeError, match="got an incorrect number of RNN parameters"):
        torch.gru(
            torch.ones(1, 1, 1),
            torch.ones(1, 1, 1),
            [torch.ones(3, 1)],
            True,
            1,
            0.0,
            False,
            False,
            False,
        )
    with pytest.raises(TypeError, match="invalid combination of arguments"):
        torch.gru(torch.ones(1, 1, 1), torch.ones(1, 1, 1), [], True)


def test_older_names():
    assert torch._VF.dropout is torch.dropout and torch.FloatType is torch._C.FloatType
    x = torch.arange(3.0)
    assert torch.equal(
        torch._vmap_internals._vmap(lambda v: (v * 2, None), allow_none_pass_through=True)(x)[0],
        x * 2,
    )
    assert (
        torch._vmap_internals._vmap(lambda v: (v, None), allow_none_pass_through=True)(x)[1] is None
    )
    with pytest.raises(NotImplementedError, match=r"torch\.package\.PackageImporter"):
        torch.package.PackageImporter("model.pt")
    assert not torch.package.is_from_package(x)


def test_hash_of_a_tensor():
    x = torch.tensor([[5, 3], [1, 1]])
    assert torch.hash_tensor(x).item() == 6 and x.hash_tensor(1).tolist() == [6, 0]
    assert torch.hash_tensor(x, 0, keepdim=True).tolist() == [[4, 2]]
    assert torch.hash_tensor(torch.tensor(1.0)).item() == 0x3FF0000000000000
    with pytest.raises(NotImplementedError, match="xor_sum_cpu"):
        torch.hash_tensor(x * 1j)
    with pytest.raises(RuntimeError, match="numel"):
        torch.hash_tensor(torch.zeros(0))
    with pytest.raises(IndexError, match="dim 0 to have non-zero"):
        torch.hash_tensor(torch.zeros(0, 2), 0)


def test_weights_are_exchanged_as_a_list():
    net, other = (torch.nn.GRU(3, 4) for _ in range(2))
    x = torch.randn(2, 1, 3)
    net._flat_weights = list(other.parameters())
    assert torch.equal(net(x)[0], other(x)[0])
    for name in net._flat_weights_names:
        delattr(net, name)
    net._flat_weights = [torch.zeros_like(w) for w in other.parameters()]
    assert not list(net.parameters()) and not net(x)[0].any()


def test_arguments_by_keyword_and_packed_data():
    net = torch.nn.GRU(2, 3)
    x, h = torch.randn(4, 1, 2), torch.zeros(1, 1, 3)
    params, flags = (
        list(net.parameters()),
        {
            "has_biases": True,
            "num_layers": 1,
            "dropout": 0.0,
            "train": False,
            "bidirectional": False,
        },
    )
    out, last = torch.gru(input=x, hx=h, params=params, batch_first=False, **flags)
    assert torch.equal(out, net(x)[0])
    sizes = torch.tensor([1, 1, 1, 1])
    packed, _ = torch.gru(data=x[:, 0], batch_sizes=sizes, hx=h, params=params, **flags)
    assert torch.allclose(packed, out[:, 0])
    with pytest.raises(RuntimeError, match="^expected scalar type Long but found Int"):
        torch.gru(data=x[:, 0], batch_sizes=sizes.int(), hx=h, params=params, **flags)
    with pytest.raises(RuntimeError, match="^lstm expects two hidden states"):
        torch.lstm(x, (h,), params, *flags.values(), False)
    with pytest.raises(TypeError, match=r"^gru\(\) received an invalid combination"):
        torch.gru(x, h, params, "yes", *list(flags.values())[1:], False)


def test_functions_read_on_first_use_are_held_against_their_signatures():
    x = torch.eye(2).to_sparse_csr()
    out = torch.zeros(3, dtype=torch.int64)
    assert torch.crow_indices_copy(x, out=out) is out and out.tolist() == [0, 1, 2]
    with pytest.raises(TypeError, match=r"^values_copy\(\): argument 'input' \(position 1\) must"):
        torch.values_copy(3)
    with pytest.raises(RuntimeError, match="^Expected out tensor to have dtype long int, but got"):
        torch.crow_indices_copy(x, out=torch.zeros(3))


def test_modes_and_subclasses_see_a_recurrent_layer_as_one_function():
    class Names(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append((func, len(args)))
            return func(*args, **(kwargs or {}))

    class Sub(torch.Tensor):
        pass

    packed = torch.nn.utils.rnn.pack_padded_sequence(torch.randn(5, 2, 3), [5, 3])
    for layer, x, function in (
        (torch.nn.LSTM(3, 4, 2, batch_first=True, dropout=0.5), torch.randn(2, 5, 3), torch.lstm),
        (torch.nn.GRU(3, 4, bidirectional=True), torch.randn(5, 3), torch.gru),
        (torch.nn.RNN(3, 4, nonlinearity="relu"), torch.randn(5, 2, 3), torch.rnn_relu),
        (torch.nn.LSTM(3, 4, bidirectional=True), packed, torch.lstm),
    ):
        seen = []
        torch.manual_seed(1)
        with Names():
            out, _ = layer(x)
        assert (function, 9) in seen
        inside = {func for func, _ in seen} & {torch.stack, torch.cat, torch.nn.functional.linear}
        assert not inside
        torch.manual_seed(1)
        expected, _ = layer(x)
        data = (out.data, expected.data) if x is packed else (out, expected)
        assert torch.equal(*data)
        if x is not packed:
            torch.manual_seed(1)
            of_sub, _ = layer(x.as_subclass(Sub))
            assert type(of_sub) is Sub
            torch.testing.assert_close(of_sub.as_subclass(torch.Tensor), expected)
            of_sub.sum().backward()
            assert all(p.grad is not None for p in layer.parameters())
