"""Accelerate on two processes: prepare, accumulate, gather, clip; the shape of its `nlp_example.py`
with a small classifier.
"""

import mpi4py  # noqa: F401  (what Pellucid's ranks need; this script does not)
import torch
from accelerate import Accelerator, debug_launcher
from accelerate.utils import set_seed
from torch import nn
from torch.optim import AdamW
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader, TensorDataset


def get_dataloaders(batch_size):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(256, 16, generator=generator)
    y = (x[:, :3] * 2).argmax(1)
    train, test = TensorDataset(x[:192], y[:192]), TensorDataset(x[192:], y[192:])
    return DataLoader(train, shuffle=True, batch_size=batch_size), DataLoader(
        test, shuffle=False, batch_size=16
    )


def training_function(config):
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    set_seed(config["seed"])
    train_dataloader, eval_dataloader = get_dataloaders(config["batch_size"])
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 3))
    optimizer = AdamW(params=model.parameters(), lr=config["lr"])
    lr_scheduler = LambdaLR(optimizer, lambda step: 1 / (1 + 0.01 * step))
    model, optimizer, train_dataloader, eval_dataloader, lr_scheduler = accelerator.prepare(
        model, optimizer, train_dataloader, eval_dataloader, lr_scheduler
    )
    for epoch in range(config["num_epochs"]):
        model.train()
        total = 0.0
        for x, y in train_dataloader:
            with accelerator.accumulate(model):
                loss = nn.functional.cross_entropy(model(x), y)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                lr_scheduler.step()
                optimizer.zero_grad()
            total += accelerator.gather(loss.detach()).mean().item()
        model.eval()
        right = seen = 0
        for x, y in eval_dataloader:
            with torch.no_grad():
                predictions = model(x).argmax(dim=-1)
            predictions, references = accelerator.gather_for_metrics((predictions, y))
            right += (predictions == references).sum().item()
            seen += references.numel()
        if accelerator.is_main_process:
            print(
                f"epoch {epoch}: loss {total / len(train_dataloader):.4f}, {right} of {seen} right"
            )
    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        print(
            sorted(accelerator.get_state_dict(model)),
            type(accelerator.unwrap_model(model)).__name__,
            accelerator.num_processes,
        )
    accelerator.end_training()


if __name__ == "__main__":
    debug_launcher(
        training_function, ({"lr": 2e-2, "num_epochs": 3, "seed": 42, "batch_size": 16},), 2
    )
