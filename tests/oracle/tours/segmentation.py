"""segmentation-models-pytorch: networks, losses and measures; trained, saved and loaded."""

import io

import torch
from _parts import show, without_compiled_operators

without_compiled_operators()

import segmentation_models_pytorch as smp  # noqa: E402

torch.manual_seed(0)
images, masks = torch.randn(2, 3, 64, 64), torch.randint(0, 2, (2, 1, 64, 64))


def unet():
    return smp.Unet(
        "resnet18",
        encoder_weights=None,
        decoder_channels=(32, 16, 8, 8, 4),
        in_channels=3,
        classes=1,
    )


model = unet()
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
losses = [
    smp.losses.DiceLoss("binary"),
    smp.losses.FocalLoss("binary"),
    smp.losses.JaccardLoss("binary"),
    smp.losses.SoftBCEWithLogitsLoss(),
]
for _ in range(2):
    made = model(images)
    parts = [loss(made, masks.float()) for loss in losses]
    optimizer.zero_grad()
    sum(parts).backward()
    optimizer.step()
    for loss, part in zip(losses, parts):
        show(type(loss).__name__, part)
stats = smp.metrics.get_stats((model.eval()(images) > 0).long(), masks, mode="binary")
show("iou", smp.metrics.iou_score(*stats, reduction="micro"))
show("f1", smp.metrics.f1_score(*stats, reduction="macro-imagewise"))
file = io.BytesIO()
torch.save(model.state_dict(), file)
file.seek(0)
again = unet()
again.load_state_dict(torch.load(file))
print("loaded", torch.equal(again.eval()(images), model(images)))
for kind in (smp.FPN, smp.Linknet, smp.PSPNet, smp.DeepLabV3Plus, smp.MAnet):
    other = kind("mobilenet_v2", encoder_weights=None, classes=2)
    show(kind.__name__, other.eval()(images[:1]))
show(
    "several classes",
    smp.losses.TverskyLoss("multiclass")(torch.randn(2, 3, 8, 8), torch.randint(0, 3, (2, 8, 8))),
)
show(
    "lovasz",
    smp.losses.LovaszLoss("multiclass")(torch.randn(2, 3, 8, 8), torch.randint(0, 3, (2, 8, 8))),
)
