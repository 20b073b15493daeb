"""timm: small models with its augmentation, losses, optimizers, schedules, averages and features;
saved and loaded.
"""

import io

import numpy as np
import torch
from _parts import show, without_compiled_operators

without_compiled_operators()

import timm  # noqa: E402
from timm.data import Mixup, create_transform, resolve_data_config  # noqa: E402
from timm.loss import LabelSmoothingCrossEntropy, SoftTargetCrossEntropy  # noqa: E402
from timm.optim import create_optimizer_v2  # noqa: E402
from timm.scheduler import create_scheduler_v2  # noqa: E402
from timm.utils import AverageMeter, ModelEmaV3, accuracy, dispatch_clip_grad  # noqa: E402

torch.manual_seed(0)
np.random.seed(0)
images, labels = torch.randn(8, 3, 32, 32), torch.randint(0, 5, (8,))


def vit():
    return timm.create_model(
        "vit_tiny_patch16_224",
        img_size=32,
        patch_size=8,
        embed_dim=32,
        depth=2,
        num_heads=2,
        num_classes=5,
        drop_path_rate=0.1,
    )


model = vit()
mixup = Mixup(mixup_alpha=0.2, cutmix_alpha=1.0, num_classes=5)
optimizer = create_optimizer_v2(model, opt="adamw", lr=1e-3, weight_decay=0.05, layer_decay=0.7)
schedule, epochs = create_scheduler_v2(
    optimizer, sched="cosine", num_epochs=4, warmup_epochs=1, warmup_lr=1e-5
)
average = ModelEmaV3(model, decay=0.9)
meter = AverageMeter()
for epoch in range(3):
    mixed, targets = mixup(images.clone(), labels)
    loss = SoftTargetCrossEntropy()(model(mixed), targets)
    optimizer.zero_grad()
    loss.backward()
    dispatch_clip_grad(model.parameters(), 1.0)
    optimizer.step()
    average.update(model)
    schedule.step(epoch + 1)
    meter.update(loss.item(), len(images))
    show(f"loss of epoch {epoch}", loss)
    print("rates", [f"{group['lr']:.2e}" for group in optimizer.param_groups])
show("mean loss", meter.avg)
model.eval()
print("right", [f"{value.item():.1f}" for value in accuracy(model(images), labels, topk=(1, 3))])
show("averaged model", average.module.eval()(images))
file = io.BytesIO()
torch.save(model.state_dict(), file)
file.seek(0)
again = vit()
print(
    "loaded",
    again.load_state_dict(torch.load(file)),
    torch.equal(again.eval()(images), model(images)),
)
show("tokens", model.forward_features(images))
model.reset_classifier(3)
print("new head", tuple(model(images).shape))

for name in ("sgd", "lamb", "adabelief", "nadamw", "lion", "adafactor", "radamw", "rmsproptf"):
    torch.manual_seed(1)
    net = timm.create_model("resnet18", channels=(8, 16, 24, 32), stem_width=8, num_classes=5)
    optimizer = create_optimizer_v2(net.parameters(), opt=name, lr=1e-3)
    for _ in range(2):
        loss = LabelSmoothingCrossEntropy(0.1)(net(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    show(f"loss with {name}", loss)
features = timm.create_model(
    "resnet18", channels=(8, 16, 24, 32), stem_width=8, features_only=True, out_indices=(1, 3)
).eval()
print("features", features.feature_info.channels(), [tuple(x.shape) for x in features(images)])
for name in (
    "convnext_atto",
    "mobilenetv3_small_050",
    "efficientnet_lite0",
    "regnetx_002",
    "mixer_s32_224",
):
    small = timm.create_model(name, num_classes=5)
    size = 224 if name.startswith("mixer") else 64
    show(name, small.eval()(torch.randn(1, 3, size, size)))
transform = create_transform(**resolve_data_config({}, model=net))
picture = (np.arange(40 * 50 * 3).reshape(40, 50, 3) % 256).astype(np.uint8)
from PIL import Image  # noqa: E402

show("picture", transform(Image.fromarray(picture)))
