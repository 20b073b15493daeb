"""lightning: Fabric's own loop; a module with callbacks, a logger, checkpoints, resuming, tests and
predictions; a GAN with manual optimization.
"""

import logging
import tempfile
import warnings

import torch
from _parts import show, without_compiled_operators

without_compiled_operators()
warnings.simplefilter("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
logging.getLogger("lightning.fabric").setLevel(logging.ERROR)

import lightning as L  # noqa: E402
from lightning.pytorch.callbacks import (  # noqa: E402
    EarlyStopping,
    GradientAccumulationScheduler,
    LearningRateMonitor,
    ModelCheckpoint,
    StochasticWeightAveraging,
    Timer,
)
from lightning.pytorch.loggers import CSVLogger  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset, random_split  # noqa: E402

L.seed_everything(0, verbose=False)
data = TensorDataset(torch.randn(60, 4), torch.randint(0, 3, (60,)))


def net():
    return torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3))


with tempfile.TemporaryDirectory() as folder:
    fabric = L.Fabric(accelerator="cpu", devices=1, precision="32-true")
    fabric.launch()
    model = net()
    model, optimizer = fabric.setup(model, torch.optim.SGD(model.parameters(), 0.1, momentum=0.9))
    loader = fabric.setup_dataloaders(DataLoader(data, 10, shuffle=True))
    for _ in range(2):
        for i, (x, y) in enumerate(loader):
            with fabric.no_backward_sync(model, enabled=i % 2 == 0):
                loss = torch.nn.functional.cross_entropy(model(x), y)
                fabric.backward(loss)
            if i % 2:
                fabric.clip_gradients(model, optimizer, max_norm=1.0)
                optimizer.step()
                optimizer.zero_grad()
        show("fabric", loss)
    fabric.save(f"{folder}/state.ckpt", {"model": model, "optimizer": optimizer, "epoch": 2})
    state = {"model": net(), "epoch": 0}
    fabric.load(f"{folder}/state.ckpt", state, strict=False)
    show("loaded", state["model"](data.tensors[0]).abs())
    print(state["epoch"], fabric.all_reduce(torch.tensor(3.0)), fabric.device, fabric.global_rank)
    half = L.Fabric(accelerator="cpu", precision="bf16-mixed")
    small = half.setup(net())
    out = small(data.tensors[0])
    print(out.dtype, small.module[0].weight.dtype)


class Part(L.LightningDataModule):
    def setup(self, stage):
        self.train, self.val, self.rest = random_split(
            data, [40, 10, 10], generator=torch.Generator().manual_seed(1)
        )

    def train_dataloader(self):
        return DataLoader(self.train, 8, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.val, 10)

    def test_dataloader(self):
        return DataLoader(self.rest, 10)

    predict_dataloader = test_dataloader


class Net(L.LightningModule):
    def __init__(self, width=16, rate=0.02):
        super().__init__()
        self.save_hyperparameters()
        self.example_input_array = torch.zeros(1, 4)
        self.net = torch.nn.Sequential(
            torch.nn.Linear(4, width), torch.nn.ReLU(), torch.nn.Linear(width, 3)
        )

    def forward(self, x):
        return self.net(x)

    def step(self, batch, name):
        x, y = batch
        loss = torch.nn.functional.cross_entropy(self(x), y)
        self.log_dict(
            {f"{name}_loss": loss, f"{name}_right": (self(x).argmax(1) == y).float().mean()},
            on_epoch=True,
            prog_bar=True,
        )
        return loss

    def training_step(self, batch, index):
        return self.step(batch, "train")

    def validation_step(self, batch, index):
        self.step(batch, "val")

    def test_step(self, batch, index):
        self.step(batch, "test")

    def predict_step(self, batch, index):
        return self(batch[0]).softmax(-1)

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), self.hparams.rate)
        schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": schedule, "monitor": "val_loss"},
        }


quiet = {"accelerator": "cpu", "enable_progress_bar": False, "enable_model_summary": False}
with tempfile.TemporaryDirectory() as folder:
    L.seed_everything(1, verbose=False)
    kept = ModelCheckpoint(
        f"{folder}/kept",
        monitor="val_loss",
        save_top_k=2,
        save_last=True,
        filename="{epoch}-{step}",
    )
    callbacks = [
        kept,
        EarlyStopping("val_loss", patience=5),
        LearningRateMonitor(),
        GradientAccumulationScheduler({1: 2}),
        Timer(),
    ]
    trainer = L.Trainer(
        max_epochs=3,
        callbacks=callbacks,
        logger=CSVLogger(folder),
        gradient_clip_val=0.5,
        log_every_n_steps=1,
        num_sanity_val_steps=1,
        **quiet,
    )
    trainer.fit(Net(), datamodule=Part())
    for name, value in sorted(trainer.callback_metrics.items()):
        show(name, value)
    print(sorted(path.rsplit("/", 1)[-1] for path in kept.best_k_models), trainer.global_step)
    print(
        {
            k: round(v, 4)
            for k, v in trainer.test(ckpt_path="best", datamodule=Part(), verbose=False)[0].items()
        }
    )
    loader = DataLoader(data, batch_sampler=torch.utils.data.BatchSampler(range(20), 5, False))
    show(
        "predicted",
        torch.cat(trainer.predict(dataloaders=loader, ckpt_path="last")).max(1).values.mean(),
    )
    again = Net.load_from_checkpoint(kept.best_model_path)
    print(again.hparams.width, again.hparams.rate)
    trainer = L.Trainer(
        max_epochs=4, logger=False, callbacks=[ModelCheckpoint(f"{folder}/more")], **quiet
    )
    trainer.fit(Net(), datamodule=Part(), ckpt_path=f"{folder}/kept/last.ckpt")
    show("resumed", trainer.callback_metrics["val_loss"])
    trainer = L.Trainer(
        max_epochs=4,
        logger=False,
        enable_checkpointing=False,
        callbacks=[StochasticWeightAveraging(0.05, 0.5, 2)],
        precision="bf16-mixed",
        **quiet,
    )
    trainer.fit(Net(), datamodule=Part())
    show("averaged", round(float(trainer.callback_metrics["val_loss"]), 1))
    print(L.Trainer(fast_dev_run=True, **quiet).fit(Net(), datamodule=Part()))
    print(str(L.pytorch.utilities.model_summary.ModelSummary(Net(), max_depth=-1)))


class Gan(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.made = torch.nn.Linear(2, 4)
        self.judge = torch.nn.Linear(4, 1)

    def training_step(self, batch, index):
        first, second = self.optimizers()
        z = torch.randn(len(batch[0]), 2)
        self.toggle_optimizer(first)
        loss = torch.nn.functional.softplus(-self.judge(self.made(z))).mean()
        self.manual_backward(loss)
        first.step()
        first.zero_grad()
        self.untoggle_optimizer(first)
        self.toggle_optimizer(second)
        other = (
            torch.nn.functional.softplus(self.judge(self.made(z).detach())).mean()
            + torch.nn.functional.softplus(-self.judge(batch[0])).mean()
        )
        self.manual_backward(other)
        self.clip_gradients(second, gradient_clip_val=0.1, gradient_clip_algorithm="value")
        second.step()
        second.zero_grad()
        self.untoggle_optimizer(second)
        self.log_dict({"made": loss, "judged": other})

    def configure_optimizers(self):
        return [
            torch.optim.Adam(self.made.parameters(), 0.01),
            torch.optim.Adam(self.judge.parameters(), 0.01),
        ], []


trainer = L.Trainer(max_epochs=1, logger=False, enable_checkpointing=False, **quiet)
trainer.fit(Gan(), DataLoader(data, 10))
for name, value in sorted(trainer.callback_metrics.items()):
    show(name, value)
