"""More names that libraries import: dtypes and strides, operators of quantized programs, counted
numbers, the inner names of jagged tensors and of export.
"""

import copy
import datetime
import io

import pytest

import pellucid as torch
import pellucid.ao.quantization.fx._decomposed
import pellucid.export._trace
from pellucid import _prims_common as prims
from pellucid._inductor.cpu_vec_isa import pick_vec_isa, valid_vec_isa_list
from pellucid._subclasses.meta_utils import MetaConverter, assert_metadata_eq, is_sparse_any
from pellucid.nested._internal import nested_tensor as inner
from pellucid.nested._internal.ops import extract_kwargs
from pellucid.numa.binding import AffinityMode, NumaOptions

KINDS = prims.ELEMENTWISE_TYPE_PROMOTION_KIND
quantized = torch.ops.quantized_decomposed


def test_promotion():
    half, whole, point = torch.ones(2).half(), torch.ones(2, dtype=torch.int32), torch.tensor(1.0)
    for args, kind, expected in (
        ((half, 2.0), KINDS.DEFAULT, (torch.float32, torch.float16)),
        ((half, 2.0), KINDS.NO_OPMATH, (torch.float16, torch.float16)),
        ((whole, True), KINDS.INT_TO_FLOAT, (torch.float32, torch.float32)),
        ((half, point), KINDS.ALWAYS_BOOL, (torch.float32, torch.bool)),
        ((half, 1j), KINDS.COMPLEX_TO_FLOAT, (torch.complex64, torch.float16)),
        ((torch.tensor(True), None), KINDS.BOOL_TO_LONG, (torch.int64, torch.int64)),
        ((whole, point.double()), KINDS.DEFAULT, (torch.float64, torch.float64)),
    ):
        assert prims.elementwise_dtypes(*args, type_promotion_kind=kind) == expected
    assert prims.get_higher_dtype(torch.int8, torch.uint8) is torch.int16
    assert prims.get_higher_dtype(torch.float32, torch.uint16) is torch.uint16
    assert prims.is_integer_dtype(torch.int8) and not prims.is_integer_dtype(torch.bool)
    assert prims.type_to_dtype(complex) is torch.complex64
    with pytest.raises(AssertionError, match=r"Expected torch.dtype, got <class 'str'>"):
        prims.is_float_dtype("float32")
    with pytest.raises(ValueError, match="Unexpected type <class 'str'>"):
        prims.elementwise_dtypes("a", type_promotion_kind=KINDS.DEFAULT)


def test_strides():
    assert prims.make_contiguous_strides_for((2, 0, 3)) == torch.empty(2, 0, 3).stride()
    x = torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last)
    assert prims.make_channels_last_strides_for(x.shape) == x.stride()
    assert prims.suggest_memory_format(x) is torch.channels_last
    assert prims.is_contiguous_for_memory_format(x, memory_format=torch.channels_last)
    assert not prims.is_contiguous_or_false(x) and prims.is_contiguous(x.contiguous())
    assert prims.is_non_overlapping_and_dense_or_false(x.permute(3, 0, 1, 2))
    assert not prims.is_non_overlapping_and_dense_or_false(torch.ones(1).expand(3, 4))
    assert prims.compute_required_storage_length((3, 4), (8, 2), 1) == 24
    assert prims.clone_preserve_strides(torch.ones(4, 6)[:, ::2]).stride() == (6, 2)
    assert prims.infer_size((2, -1), 6) == (2, 3) and prims.canonicalize_dims(3, (-1, 0)) == (2, 0)
    with pytest.raises(RuntimeError, match=r"shape '\[4, -1\]' is invalid for input of size 6"):
        prims.infer_size((4, -1), 6)
    with pytest.raises(IndexError, match=r"range of \[-2, 1\], but got 2"):
        prims.canonicalize_dim(2, 2)
    with pytest.raises(RuntimeError, match=r"Shape torch.Size\(\[3\]\) is not the expected shape"):
        prims.check_same_shape(torch.ones(2), torch.ones(3), allow_cpu_scalar_tensors=True)


def test_operators_of_quantized_programs():
    x = torch.tensor([[-1.0, 0.26, 30.0], [0.1, 0.2, -0.3]])
    q = quantized.quantize_per_tensor(x, 0.1, 2, -128, 127, torch.int8)
    assert q.tolist() == [[-8, 5, 127], [3, 4, -1]]
    tensors = torch.tensor(0.1), torch.tensor(2)
    assert torch.equal(quantized.quantize_per_tensor.tensor(x, *tensors, -128, 127, torch.int8), q)
    back = quantized.dequantize_per_tensor(q, 0.1, 2, -128, 127, torch.int8)
    assert back[1].tolist() == pytest.approx([0.1, 0.2, -0.3])
    scale, zero = quantized.choose_qparams.tensor(x, -128, 127, 1e-5, torch.int8)
    assert scale.item() == pytest.approx(31 / 255) and zero.item() == -120
    scales, zeros = torch.tensor([0.5, 0.01]), torch.tensor([0, 1])
    rows = quantized.quantize_per_channel(x, scales, zeros, 0, -128, 127, torch.int8)
    assert rows.tolist() == [[-2, 1, 60], [11, 21, -29]]
    again = quantized.dequantize_per_channel(rows, scales, zeros, 0, -128, 127, torch.int8)
    assert torch.allclose(again, torch.tensor([[-1.0, 0.5, 30.0], [0.1, 0.2, -0.3]]))
    assert quantized.choose_qparams_per_token(x, torch.int8)[0].flatten().tolist() == pytest.approx(
        [30 / 127, 0.3 / 127]
    )
    with pytest.raises(AssertionError, match="quant_min_lower_bound: -128 quant_min: -200"):
        quantized.quantize_per_tensor(x, 0.1, 2, -200, 127, torch.int8)


def test_statistics_are_told_at_the_end_of_a_window():
    kinds, events = torch.monitor.Aggregation, []
    handle = torch.monitor.register_event_handler(events.append)
    hour = datetime.timedelta(hours=1)
    stat = torch.monitor.Stat("a", [kinds.SUM, kinds.MAX, kinds.MEAN], hour, 3)
    assert stat.get() == {kinds.SUM: 0, kinds.MAX: 0, kinds.MEAN: 0}
    for value in (1, 6.5, 3, 7):  # the fourth comes too late for this window
        stat.add(value)
    assert stat.count == 0 and stat.get()[kinds.MAX] == 6.5
    assert events[0].data == {"a.sum": 10.5, "a.max": 6.5, "a.mean": 3.5}
    rest = torch.monitor.Stat("b", [kinds.COUNT], hour)
    rest.add(1)
    del rest
    assert events[1].name == "torch.monitor.Stat" and events[1].data == {"b.count": 1.0}
    torch.monitor.unregister_event_handler(handle)
    torch.monitor.log_event(torch.monitor.Event("c", datetime.datetime.now(), {"x": 1}))
    assert len(events) == 2
    with pytest.raises(TypeError, match="incompatible constructor arguments"):
        torch.monitor.Event("c", 1, {})


def test_jagged_tensors_from_their_parts():
    n = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], layout=torch.jagged)
    parts = extract_kwargs(n)
    assert sorted(parts) == ["_metadata_cache", "_ragged_idx", "lengths", "offsets"]
    m = inner.NestedTensor(n.values() * 2, **parts)
    assert type(n) is inner.NestedTensor and m.shape == n.shape and (m + n).values().sum() == 54
    assert m._known_sizes == n._known_sizes == (2, 4)
    assert copy.deepcopy(m).values().sum() == 36
    file = io.BytesIO()
    torch.save(m, file)
    file.seek(0)
    assert torch.load(file, weights_only=False).values().sum() == 36
    offsets = n.offsets().clone()
    inner._tensor_symint_registry[offsets] = inner._tensor_symint_registry[n.offsets()]
    assert inner.NestedTensor(n.values(), offsets=offsets).shape == n.shape
    assert inner.nested_from_padded(n.to_padded_tensor(0.0), n.offsets()).values().shape == (6, 3)


def test_tensors_without_data_like_others():
    convert = MetaConverter()
    x = torch.ones(2, 3, requires_grad=True)
    y, view = x * 2, x.detach().t()[:2]
    for t in (x, y, view, torch.nn.Parameter(torch.ones(2), requires_grad=False)):
        made = convert(t)
        assert made.is_meta and convert(t) is made and type(made) is type(t)
        assert_metadata_eq(lambda a, b: pytest.fail(f"{a} {b}") if a != b else None, made, t)
    assert convert.successful() and convert(torch.ones(2).to_sparse()) is NotImplemented
    assert not convert.successful() and is_sparse_any(torch.eye(2).to_sparse_csr())


def test_views_of_no_data_have_the_strides_they_are_given():
    x = torch.empty(2, 3, device="meta")
    assert x.as_strided((2, 2), (1, 3)).stride() == (1, 3)
    assert x.as_strided((9, 9), (0, 0)).stride() == (0, 0)
    with pytest.raises(RuntimeError, match="out of bounds for storage of size 24"):
        x.as_strided((9, 9), (9, 1))


def test_names_of_export_and_of_processors():
    program = pellucid.export._trace._export(torch.nn.ReLU(), (torch.ones(2),))
    table = torch.export.default_decompositions()
    assert type(table).__name__ == "CustomDecompTable" and table.materialize() == {}
    assert program.run_decompositions(table).module()(torch.tensor([-1.0, 1.0])).tolist() == [0, 1]
    with pytest.raises(NotImplementedError, match="cannot keep aten.linear.default"):
        table.pop(torch.ops.aten.linear.default)
    isa = pick_vec_isa()
    assert bool(isa) == bool(valid_vec_isa_list())
    assert not isa or isa.nelements(torch.float64) == isa.bit_width() // 64
    assert NumaOptions(AffinityMode.NODE).affinity_mode == "node"
    kinds = torch.autograd.DeviceType
    assert str(kinds.CUDA) == "DeviceType.CUDA" and int(kinds.CUDA) == 1
    assert torch._cast_Long(torch.tensor(2.5)).item() == 2
    assert torch.functional.F is torch.nn.functional and "Pellucid" in torch._C._show_config()
    assert torch.utils.data._utils.ExceptionWrapper is torch._utils.ExceptionWrapper


def test_functions_of_tensors_by_the_name_of_their_class():
    functions = torch._C._VariableFunctions
    assert functions.add is torch.add is torch._C._VariableFunctionsClass.add
    assert type(functions) is torch._C._VariableFunctionsClass
    assert "matmul" in dir(functions) and not hasattr(functions, "no_grad")
    with pytest.raises(AttributeError, match="has no attribute '_nothing'"):
        torch._C._nothing


def test_the_stack_of_modes():
    from pellucid import overrides

    class Names(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    seen, outer, inner = [], Names(), Names()
    assert torch._C._len_torch_function_stack() == 0
    assert overrides._get_current_function_mode() is None
    with pytest.raises(RuntimeError, match="Empty stack"):
        torch._C._pop_torch_function_stack()
    torch._C._push_on_torch_function_stack(outer)
    try:
        with inner:
            assert overrides._get_current_function_mode() is inner
            assert overrides._get_current_function_mode_stack() == [outer, inner]
            assert torch._C._get_function_stack_at(0) is outer
            assert overrides._len_torch_function_stack() == 2
        torch.ones(2).exp()
    finally:
        assert torch._C._pop_torch_function_stack() is outer
    assert seen == ["ones", "exp"]
    torch.ones(2)
    assert seen == ["ones", "exp"]


def test_the_default_device_as_a_mode():
    from pellucid.utils import _device

    with _device.DeviceContext("meta"):
        assert torch.zeros(2).is_meta and torch.fft.fftfreq(3).is_meta
        assert torch.as_tensor([1.0]).is_meta and not torch.ones(2, device="cpu").is_meta
    assert not torch.zeros(2).is_meta
    assert _device.set_device("meta")(torch.nn.Linear)(2, 3).weight.is_meta
    with torch.device("meta"):
        assert _device.CURRENT_DEVICE == torch.device("meta")


def test_operators_of_functions():
    from pellucid.jit import _builtins

    assert _builtins._find_builtin(torch.matmul) == "aten::matmul"
    assert _builtins._find_builtin(torch.manual_seed) is None

    def mine(x):
        return x

    _builtins._register_builtin(mine, "mine::op")
    try:
        assert _builtins._find_builtin(mine) == "mine::op"
    finally:
        del _builtins._get_builtin_table()[id(mine)]
    assert torch.jit._script._get_overloads(torch.nn.functional.interpolate) is None


def test_a_map_in_parts():
    from pellucid._functorch.apis import chunk_vmap

    x, y = torch.arange(10.0).view(5, 2), torch.arange(2.0)
    seen = []

    def dot(pair, scale):
        seen.append(pair["a"].shape)
        return (pair["a"] * pair["b"]).sum() * scale

    got = chunk_vmap(dot, ({"a": 0, "b": None}, None), chunks=2)({"a": x, "b": y}, 2.0)
    assert torch.equal(got, x @ y * 2) and seen == [torch.Size([2])] * 2
    assert chunk_vmap(torch.sum, chunks=7)(x).tolist() == x.sum(1).tolist()


def test_functions_that_are_one_of_two_are_known():
    from pellucid import _jit_internal

    fn = _jit_internal.boolean_dispatch("flag", 1, False, max, min, "mine", "either")
    assert fn(1, 0) == 0 and fn(1, 2) == 2 and fn([1, 2]) == 1
    assert _jit_internal.boolean_dispatched[fn]["if_true"] is max
    assert (fn.__module__, fn.__name__) == ("mine", "either")


def test_how_many_transforms_there_are():
    level = torch._C._functorch.maybe_current_level
    seen = [level()]
    torch.func.vmap(torch.func.grad(lambda x: seen.append(level()) or x.sin()))(torch.ones(2))
    assert seen == [None, 2]
