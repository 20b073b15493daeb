"""torchvision's transforms v2 over an image, its boxes and its mask."""

import random

import torch
from _parts import show, without_compiled_operators

without_compiled_operators()
from torchvision import tv_tensors  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

torch.manual_seed(0)
image = torch.randint(0, 256, (3, 32, 40), dtype=torch.uint8)


def sample():
    return {
        "image": tv_tensors.Image(image),
        "boxes": tv_tensors.BoundingBoxes(
            [[2, 3, 20, 25], [5, 6, 30, 31]], format="XYXY", canvas_size=(32, 40)
        ),
        "mask": tv_tensors.Mask(torch.arange(2 * 32 * 40).reshape(2, 32, 40) % 5 > 2),
        "label": 3,
    }


for transform in (
    v2.RandomResizedCrop(16),
    v2.RandomHorizontalFlip(1.0),
    v2.Resize(20, max_size=60),
    v2.CenterCrop(24),
    v2.Pad(3),
    v2.RandomCrop(24),
    v2.RandomRotation(30),
    v2.RandomAffine(20, (0.1, 0.1), (0.8, 1.2), 5),
    v2.RandomPerspective(0.5, 1.0),
    v2.ElasticTransform(),
    v2.ColorJitter(0.3, 0.3, 0.3, 0.1),
    v2.RandomPhotometricDistort(p=1.0),
    v2.GaussianBlur(3),
    v2.RandomPosterize(3, 1.0),
    v2.RandomSolarize(100, 1.0),
    v2.RandomAdjustSharpness(2, 1.0),
    v2.RandomAutocontrast(1.0),
    v2.RandomEqualize(1.0),
    v2.RandomGrayscale(1.0),
    v2.RandomChannelPermutation(),
    v2.RandomErasing(1.0),
    v2.RandomZoomOut(p=1.0),
    v2.RandomIoUCrop(),
    v2.ScaleJitter((32, 32)),
    v2.ToDtype(torch.float32, scale=True),
    v2.ClampBoundingBoxes(),
    v2.SanitizeBoundingBoxes(labels_getter=None),
    v2.ConvertBoundingBoxFormat("CXCYWH"),
):
    torch.manual_seed(0)
    random.seed(0)
    made = transform(sample())
    print(type(transform).__name__, made["boxes"].format, made["boxes"].canvas_size)
    for part in ("image", "boxes", "mask"):
        print(type(made[part]).__name__, tuple(made[part].shape))
        show(part, torch.as_tensor(made[part]))
for transform in (v2.AutoAugment(), v2.RandAugment(), v2.TrivialAugmentWide(), v2.AugMix()):
    torch.manual_seed(0)
    show(type(transform).__name__, transform(image))
for transform in (v2.CutMix(num_classes=3), v2.MixUp(num_classes=3)):
    torch.manual_seed(0)
    for part in transform(torch.rand(4, 3, 8, 8), torch.tensor([0, 1, 2, 0])):
        show(type(transform).__name__, part)
