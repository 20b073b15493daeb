"""What containers, trainers and summaries of other libraries take from PyTorch: storages,
overrides, functorch, subclasses that stay out.
"""

import inspect
import subprocess
import sys

import pytest

import pellucid as torch
from pellucid._functorch import deprecated
from pellucid._functorch import make_functional as functions
from pellucid._functorch import vmap as steps


class Quiet(torch.Tensor):
    __torch_function__ = torch._C._disabled_torch_function_impl


def test_results_of_a_subclass_that_switched_off_torch_function_are_tensors():
    x = torch.Tensor._make_subclass(Quiet, torch.ones(2))
    for made in (x + 1, x.sum(), x[0], x.view(1, 2), x.detach(), x.clone(), torch.add(x, 1)):
        assert type(made) is torch.Tensor
    x += 1
    assert type(x) is Quiet


def test_the_switched_off_torch_function_runs_what_it_is_asked():
    p = torch.nn.Parameter(torch.ones(2))
    assert torch.nn.Parameter.__torch_function__ is torch._C._disabled_torch_function_impl
    made = torch.nn.Parameter.__torch_function__(torch.add, (torch.Tensor,), (p, 1), {})
    assert made.tolist() == [2, 2] and made.requires_grad


def test_numbers_are_copied_into_tensors():
    assert torch.ones(2).copy_(2.5).tolist() == [2.5, 2.5]
    assert torch.zeros(2, dtype=torch.int64).copy_(2.7).tolist() == [2, 2]
    assert torch.zeros(1, dtype=torch.complex64).copy_(1j).tolist() == [1j]
    with pytest.raises(
        TypeError, match=r"copy_\(\): argument 'other' \(position 1\) must be Tensor, not list"
    ):
        torch.ones(1).copy_([1.0])


def test_storages_tell_their_size_and_their_class():
    few, many = torch.ones(1).untyped_storage(), torch.ones(101).untyped_storage()
    assert sys.getsizeof(many) - sys.getsizeof(few) == 400
    assert isinstance(few, torch.StorageBase) and torch._C.StorageBase is torch.StorageBase
    assert not isinstance(torch.ones(1), torch.StorageBase)


def test_overridable_functions_by_the_module_that_has_them():
    table = torch.overrides.get_overridable_functions()
    assert torch.mm in table[torch] and torch.nn.functional.relu in table[torch.nn.functional]
    assert torch.Tensor.add in table[torch.Tensor]
    ignored = torch.overrides.get_ignored_functions()
    assert torch.is_tensor in ignored and torch.Tensor.stride in ignored
    assert not ignored & set(table[torch])
    stub = torch.overrides.get_testing_overrides()[torch.nn.functional.linear]
    assert stub() == -1 and list(inspect.signature(stub).parameters)[:3] == [
        "input",
        "weight",
        "bias",
    ]


def test_modules_as_functions():
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2)).eval()
    function, params, buffers = functions.make_functional_with_buffers(model)
    x = torch.randn(3, 2)
    assert torch.equal(function(params, buffers, x), model(x))
    with pytest.raises(RuntimeError, match="`model` has buffers"):
        functions.make_functional(model)
    single, weights = functions.make_functional(torch.nn.Linear(2, 1))
    assert torch.func.grad(lambda w: single(w, x).sum())(weights)[1].tolist() == [3]
    models = [torch.nn.Linear(2, 1) for _ in range(3)]
    call, stacked, kept = functions.combine_state_for_ensemble(models)
    many = torch.vmap(call, in_dims=(0, 0, None))(stacked, kept, x)
    assert torch.allclose(many, torch.stack([m(x) for m in models]))


def test_functions_of_functorch_warn():
    text = r"integrated functorch .*`functorch\.{}` is deprecated .*Please use `{}` instead"
    with pytest.warns(FutureWarning, match=text.format("grad", "torch.func.grad")) as seen:
        slope = deprecated.grad(torch.sin)
    assert seen[0].filename == __file__
    assert slope(torch.tensor(0.0)).item() == 1
    for name, instead in {
        "vmap": "torch.vmap",
        "make_functional": "torch.func.functional_call",
        "combine_state_for_ensemble": "torch.func.stack_module_state",
    }.items():
        given = torch.nn.Linear(1, 1) if name == "make_functional" else [torch.nn.Linear(1, 1)]
        with pytest.warns(FutureWarning, match=text.format(name, instead)):
            getattr(deprecated, name)(torch.sin if name == "vmap" else given)


def test_functorch_is_this_package_where_it_stands_in():
    program = (
        "import pellucid\npellucid.interop.as_torch()\nimport functorch, torch\n"
        "print(functorch.vmap.__name__, functorch.FunctionalModule.__name__, functorch.make_fx.__name__)\n"
        "from functorch.dim import dims\nfrom functorch.einops import rearrange\n"
        "i, j = dims()\n"
        "print(rearrange(torch.ones(2, 3)[i, j].order(j, i), 'a b -> b a').shape)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300
    )
    assert done.stdout == "vmap FunctionalModule make_fx\ntorch.Size([2, 3])\n", done.stderr


def test_vmap_takes_the_steps_that_a_library_puts_in_place(monkeypatch):
    class Box:
        def __init__(self, x):
            self.x = x

    torch.utils._pytree.register_pytree_node(
        Box, lambda box: ([box.x], None), lambda leaves, context: Box(leaves[0])
    )
    seen = []

    def process(in_dims, args, func):
        return args[0].x.shape[0], [0], list(args), None

    def create(dims, leaves, level, spec):
        seen.append("create")
        return (Box(steps._add_batch_dim(leaves[0].x, 0, level)),)

    def unwrap(made, out_dims, level, size, func):
        return Box(steps._remove_batch_dim(made.x, level, size, 0))

    for name, step in (
        ("_process_batched_inputs", process),
        ("_create_batched_inputs", create),
        ("_unwrap_batched", unwrap),
    ):
        monkeypatch.setattr(steps, name, step)
    made = torch.vmap(lambda box: Box(box.x.sum()))(Box(torch.ones(2, 3)))
    assert made.x.tolist() == [3, 3] and seen == ["create"]


def test_tensors_are_swapped():
    a, b = torch.nn.Parameter(torch.zeros(2)), torch.ones(3)
    a.label = "a"
    torch.utils.swap_tensors(a, b)
    assert type(a) is torch.Tensor and a.tolist() == [1, 1, 1] and not hasattr(a, "label")
    assert type(b) is torch.nn.Parameter and b.requires_grad and b.label == "a"


def test_devices_that_are_not_there_answer():
    assert (
        torch.xpu.memory_allocated() == 0
        and torch.xpu.get_rng_state_all() == []
        and not torch.xpu.is_bf16_supported()
    )
    with pytest.raises(AssertionError, match="Torch not compiled with XPU enabled"):
        torch.xpu.current_device()
    with pytest.raises(
        RuntimeError, match=r"Cannot execute getCurrentAllocatedMemory\(\) without MPS backend"
    ):
        torch.mps.current_allocated_memory()
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        torch.cuda.profiler.start()


def test_small_names():
    out = torch.tensor([[1.0, 2.0]]).softmax(1)
    x = torch.tensor([[1.0, 2.0]], requires_grad=True)
    x.softmax(1)[0, 0].backward()
    assert torch.allclose(
        torch._softmax_backward_data(torch.tensor([[1.0, 0.0]]), out, 1, torch.float32), x.grad
    )
    assert (
        torch.distributions.Normal,
        torch.distributions.Normal,
    ) in torch.distributions.kl._KL_REGISTRY
    assert "tensor" in torch.__all__ and "nn" not in torch.__all__
    assert torch.profiler.profiler._default_schedule_fn(3) is torch.profiler.ProfilerAction.RECORD


def test_storages_of_buffers_are_copies():
    held = bytearray(b"abcd")
    storage = torch.UntypedStorage.from_buffer(held, dtype=torch.uint8)
    held[0] = 0
    assert type(storage) is torch.UntypedStorage and storage.tolist() == list(b"abcd")
    assert torch.ByteTensor(torch.ByteStorage._from_buffer(b"hello")).tolist() == list(b"hello")
    swapped = torch.UntypedStorage.from_buffer(b"\1\2", byte_order="big", dtype=torch.int16)
    assert swapped.tolist() == [2, 1]


def test_a_profile_is_ended_from_elsewhere():
    assert not torch.autograd._profiler_enabled() and torch.autograd._disable_profiler() == []
    with torch.autograd.profiler.profile():
        assert torch.autograd._profiler_enabled()
        torch.ones(2).sum()
        assert any(e.name == "aten::sum" for e in torch.autograd._disable_profiler())
        assert not torch.autograd._profiler_enabled()


def test_nested_tensors_lie_in_a_buffer():
    sizes, buffer = torch.tensor([[2, 3], [1, 3]]), torch.arange(9.0)
    strides, offsets = torch._nested_compute_contiguous_strides_offsets(sizes)
    assert (strides.tolist(), offsets.tolist()) == ([[3, 1], [3, 1]], [0, 6])
    nested = torch._nested_view_from_buffer(buffer, sizes, strides, offsets)
    buffer[6] = -1.0
    assert [part.tolist() for part in nested.unbind()] == [[[0, 1, 2], [3, 4, 5]], [[-1, 7, 8]]]


def test_a_device_that_is_not_there_answers_questions():
    mtia = torch.mtia
    assert (mtia.is_available(), mtia.device_count(), mtia.memory_stats()) == (False, 0, {})
    with pytest.raises(RuntimeError, match=r"Cannot execute emptyCache\(\) without MTIA backend."):
        mtia.empty_cache()
    assert torch.cuda._initialized is False and torch.xpu.memory_stats() == {}


def test_settings_of_functorch_are_kept():
    from pellucid._functorch import config

    with config.patch(donated_buffer=False):
        assert config.donated_buffer is False
    assert config.donated_buffer is True


def test_who_is_in_no_group():
    distributed = pytest.importorskip("pellucid.distributed")
    assert not distributed._rank_not_in_group(None)
    assert distributed._rank_not_in_group(distributed.GroupMember.NON_GROUP_MEMBER)
