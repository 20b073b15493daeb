"""Names that libraries import from PyTorch's inner modules, and what they do."""

import threading

import pytest

import pellucid as torch


def test_scales_of_gradients():
    grads = [torch.tensor([2.0, 4.0]), torch.tensor([float("inf"), 8.0])]
    found = torch.zeros(())
    torch._amp_foreach_non_finite_check_and_unscale_(grads[:1], found, torch.tensor(0.5))
    assert (grads[0].tolist(), found.item()) == ([1.0, 2.0], 0.0)
    torch._amp_foreach_non_finite_check_and_unscale_(grads[1:], found, torch.tensor(0.5))
    assert (grads[1].tolist(), found.item()) == ([float("inf"), 4.0], 1.0)
    scale, steps = torch.tensor(1024.0), torch.zeros((), dtype=torch.int32)
    seen = []
    for overflow in (0.0, 0.0, 0.0, 1.0):
        out = torch._amp_update_scale_(scale, steps, torch.tensor(overflow), 2.0, 0.5, 2)
        assert out is scale
        seen.append((scale.item(), steps.item()))
    assert seen == [(1024.0, 1), (2048.0, 0), (2048.0, 1), (1024.0, 0)]
    with pytest.raises(RuntimeError, match="growth_tracker must be an int tensor"):
        torch._amp_update_scale_(scale, torch.zeros(()), found, 2.0, 0.5, 2)
    with pytest.raises(RuntimeError, match="current_scale must be a 1-element tensor"):
        torch._amp_update_scale_(torch.ones(2), steps, found, 2.0, 0.5, 2)


@pytest.mark.parametrize("how", ["overwrite", "swap"])
def test_parameters_that_a_conversion_replaces(how):
    layer = torch.nn.Linear(2, 2)
    setter = getattr(torch.__future__, f"set_{how}_module_params_on_conversion")
    getter = getattr(torch.__future__, f"get_{how}_module_params_on_conversion")
    before = layer.weight
    layer(torch.ones(1, 2)).sum().backward()
    assert getter() is False
    setter(True)
    try:
        layer.double()
        assert getter() is True
    finally:
        setter(False)
    assert (layer.weight is before) == (how == "swap")
    assert layer.weight.dtype is layer.weight.grad.dtype is torch.float64
    assert layer.weight.requires_grad and isinstance(layer.weight, torch.nn.Parameter)


def test_what_takes_the_place_of_a_tensor():
    weight, values = torch.nn.Parameter(torch.zeros(2)), torch.ones(2)
    assigned = weight.module_load(values, assign=True)
    assert isinstance(assigned, torch.nn.Parameter) and assigned.data_ptr() == values.data_ptr()
    assert torch.zeros(2).module_load(values).tolist() == [1.0, 1.0]


def test_classes_of_the_compiler():
    exc = torch._dynamo.exc
    assert issubclass(exc.RecompileError, exc.TorchDynamoException)
    assert issubclass(exc.ObservedKeyError, exc.ObservedLookupError)
    assert str(exc.KeyErrorMsg("a\nb")) == "a\nb"
    assert exc.UserErrorType.DYNAMIC_DIM.name == "DYNAMIC_DIM"


def test_parts_by_tags():
    from pellucid.fx.passes.split_utils import split_by_tags

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = torch.nn.Linear(2, 2), torch.nn.Sequential(torch.nn.Linear(2, 2))
            self.w = torch.nn.Parameter(torch.ones(2))

        def forward(self, x):
            y = self.a(x)
            return self.b(y).relu() * self.w + y

    net = Net()
    gm = torch.fx.symbolic_trace(net)
    tags = {"a": "left", "b_0": "left", "relu": "right", "mul": "right", "add": "right"}
    for node in gm.graph.nodes:
        if node.name in tags:
            node.tag = tags[node.name]
    parts, moved = split_by_tags(gm, ["left", "right"], return_fqn_mapping=True)
    assert moved == {"a": "left.a", "b.0": "left.b.0", "w": "right.w"}
    x = torch.randn(3, 2)
    assert torch.equal(parts(x), net(x))
    with pytest.raises(AssertionError, match="runs later"):
        split_by_tags(gm, ["right", "left"])


def test_modes_threads_and_workers():
    with torch.overrides.TorchFunctionMode() as mode:
        assert torch.overrides._get_current_function_mode_stack() == [mode]
    assert torch.overrides._get_current_function_mode() is None
    thread = threading.Thread(target=lambda: torch.multiprocessing._set_thread_name("pins"))
    thread.start()
    thread.join()
    assert thread.name == "pins"
    from pellucid.utils.data import _utils

    assert _utils.worker.ManagerWatchdog().is_alive()
    before = _utils.worker._worker_info
    try:
        _utils.worker._worker_info = info = object()
        assert torch.utils.data.get_worker_info() is info
    finally:
        _utils.worker._worker_info = before
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.5)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    with torch.optim.lr_scheduler._enable_get_lr_call(schedule):
        assert schedule.get_lr() == [0.5]


def test_optimizer_states_by_name_and_number():
    from pellucid.distributed.fsdp import FullyShardedDataParallel as FSDP
    from pellucid.distributed.fsdp import OptimStateKeyType

    model = torch.nn.Linear(2, 1)
    state = {"state": {0: "w", 1: "b"}, "param_groups": [{"lr": 1.0, "params": [0, 1]}]}
    named = FSDP.rekey_optim_state_dict(state, OptimStateKeyType.PARAM_NAME, model)
    assert named["state"] == {"weight": "w", "bias": "b"}
    assert FSDP.rekey_optim_state_dict(named, OptimStateKeyType.PARAM_ID, model) == state


def test_what_needs_a_device_of_another_kind_refuses():
    assert dict(torch.cpu.get_capabilities())["num_logical_cores"] >= 1
    for call in (
        lambda: torch.cuda.memory._record_memory_history(),
        lambda: torch.cuda.nccl.version(),
        lambda: torch.xpu.Event(),
        lambda: torch.accelerator.memory.get_memory_info(),
        lambda: torch.mtia.snapshot(),
        lambda: torch.mps.profiler.start(),
    ):
        with pytest.raises((AssertionError, RuntimeError)):
            call()
    assert torch.accelerator.memory.memory_stats is torch.accelerator.memory_stats
