"""accelerate: a training loop with accumulation, clipping, a schedule, metrics, state saved and loaded;
models larger than a memory budget.
"""

import tempfile
import warnings

import torch
from _parts import show, without_compiled_operators

without_compiled_operators()
warnings.simplefilter("ignore")
from accelerate import (  # noqa: E402
    Accelerator,
    cpu_offload,
    dispatch_model,
    infer_auto_device_map,
    init_empty_weights,
    load_checkpoint_and_dispatch,
)
from accelerate.utils import (  # noqa: E402
    ProjectConfiguration,
    compute_module_sizes,
    find_executable_batch_size,
    gather_object,
    release_memory,
    send_to_device,
    set_seed,
)
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

set_seed(0)
data = TensorDataset(torch.randn(50, 4), torch.randint(0, 3, (50,)))


def net():
    return torch.nn.Sequential(
        torch.nn.Linear(4, 16, bias=False),
        torch.nn.BatchNorm1d(16),
        torch.nn.ReLU(),
        torch.nn.Dropout(0.1),
        torch.nn.Linear(16, 3),
    )


with tempfile.TemporaryDirectory() as folder:
    accelerator = Accelerator(
        cpu=True,
        gradient_accumulation_steps=2,
        project_config=ProjectConfiguration(folder, automatic_checkpoint_naming=True),
    )
    model = net()
    optimizer = torch.optim.AdamW(model.parameters(), 0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.02, total_steps=20)
    loader = DataLoader(data, 8, shuffle=True)
    model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
    accelerator.register_for_checkpointing(schedule)
    for _ in range(2):
        for x, y in loader:
            with accelerator.accumulate(model):
                loss = torch.nn.functional.cross_entropy(model(x), y)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    show("norm", accelerator.clip_grad_norm_(model.parameters(), 1.0))
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
        show("loss", loss)
        accelerator.save_state()
    show("rate", schedule.get_last_lr()[0])
    rest = accelerator.skip_first_batches(loader, 4)
    print(len(list(rest)))
    model.eval()
    found = torch.cat([accelerator.gather_for_metrics(model(x).argmax(-1)) for x, _ in loader])
    print(found.shape, int(found.sum()))
    before = accelerator.unwrap_model(model)[0].weight.clone()
    torch.nn.init.zeros_(model[0].weight)
    accelerator.load_state(f"{folder}/checkpoints/checkpoint_1")
    print(torch.equal(before, model[0].weight))
    accelerator.save_model(model, f"{folder}/model", max_shard_size="1KB")
    with init_empty_weights():
        empty = net()
    print(empty[0].weight.device, {k: int(v) for k, v in compute_module_sizes(empty).items()})
    print(infer_auto_device_map(empty, max_memory={"cpu": 400, "disk": 10000}))
    loaded = load_checkpoint_and_dispatch(empty, f"{folder}/model", device_map={"": "cpu"}).eval()
    show("loaded", loaded(data.tensors[0]))
    away = cpu_offload(net().eval(), "cpu")
    print(tuple(away(data.tensors[0]).shape), away[0].weight.device)
    kept = dispatch_model(
        net().eval(),
        {"0": "cpu", "1": "cpu", "2": "cpu", "3": "cpu", "4": "disk"},
        offload_dir=f"{folder}/off",
        main_device="cpu",
    )
    print(tuple(kept(data.tensors[0]).shape))

tried = []


@find_executable_batch_size(starting_batch_size=64)
def step(batch_size):
    tried.append(batch_size)
    if batch_size > 16:
        raise RuntimeError("CUDA out of memory.")
    return batch_size


print(step() <= 16, tried[0])
print(
    send_to_device({"a": [torch.ones(2)]}, "cpu"),
    gather_object([1, 2]),
    release_memory(model, optimizer),
)

print(
    accelerator.device,
    accelerator.num_processes,
    accelerator.is_main_process,
    accelerator.mixed_precision,
)
