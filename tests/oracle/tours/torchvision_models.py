"""torchvision: models, features of inner layers, detection, transforms, operators, folders of
pictures.
"""

import io
import tempfile
from pathlib import Path

import torch
from _parts import show, without_compiled_operators

without_compiled_operators()

import torchvision  # noqa: E402
from torchvision import tv_tensors  # noqa: E402
from torchvision.models.feature_extraction import create_feature_extractor, get_graph_node_names  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

torch.manual_seed(0)
images, labels = torch.randn(4, 3, 64, 64), torch.randint(0, 4, (4,))
model = torchvision.models.resnet18(num_classes=4)
optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
for _ in range(2):
    loss = torch.nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    show("loss", loss)
file = io.BytesIO()
torch.save(model.state_dict(), file)
file.seek(0)
again = torchvision.models.resnet18(num_classes=4)
again.load_state_dict(torch.load(file))
print("loaded", torch.equal(again.eval()(images), model.eval()(images)))
print("nodes", get_graph_node_names(model)[1][:6])
extractor = create_feature_extractor(
    model, return_nodes={"layer1.0.relu": "first", "layer4.1.add": "last"}
)
for name, value in extractor(images).items():
    show(name, value)
for name in ("mobilenet_v2", "squeezenet1_1", "shufflenet_v2_x0_5", "mnasnet0_5"):
    show(name, torchvision.models.get_model(name, num_classes=4).eval()(images))
vit = torchvision.models.VisionTransformer(32, 8, 2, 2, 16, 32, num_classes=4)
show("vit", vit(torch.randn(2, 3, 32, 32)))

boxes = tv_tensors.BoundingBoxes(
    [[4, 4, 20, 24], [10, 2, 30, 30]], format="XYXY", canvas_size=(32, 32)
)
mask = tv_tensors.Mask(torch.randint(0, 2, (2, 32, 32), dtype=torch.uint8))
picture = tv_tensors.Image(torch.randint(0, 256, (3, 32, 32), dtype=torch.uint8))
transform = v2.Compose(
    [
        v2.RandomResizedCrop(24, antialias=True),
        v2.RandomHorizontalFlip(0.5),
        v2.ColorJitter(0.2, 0.2, 0.2, 0.1),
        v2.RandomAffine(10, translate=(0.1, 0.1)),
        v2.GaussianBlur(3),
        v2.ToDtype(torch.float32, scale=True),
        v2.Normalize([0.5] * 3, [0.2] * 3),
    ]
)
moved = transform({"image": picture, "boxes": boxes, "mask": mask})
show("image", moved["image"])
show("boxes", moved["boxes"])
show("mask", moved["mask"])
print([type(value).__name__ for value in moved.values()], moved["boxes"].canvas_size)
show("mixed", v2.MixUp(num_classes=4)(images, labels)[0])
show("augmented", v2.RandAugment()(picture))

show("overlap", torchvision.ops.box_iou(boxes.float(), boxes.float() + 2))
show("distance", torchvision.ops.generalized_box_iou_loss(boxes.float(), boxes.float() + 2))
show("focal loss", torchvision.ops.sigmoid_focal_loss(torch.randn(4, 3), torch.ones(4, 3)))
show("dropped", torchvision.ops.StochasticDepth(0.5, "row")(torch.ones(8, 2)))
pyramid = torchvision.ops.FeaturePyramidNetwork([8, 16], 4)
for name, value in pyramid({"a": torch.randn(1, 8, 8, 8), "b": torch.randn(1, 16, 4, 4)}).items():
    show(f"pyramid {name}", value)
show("grid", torchvision.utils.make_grid(images, 2, normalize=True))
segmentation = torchvision.models.segmentation.lraspp_mobilenet_v3_large(
    weights=None, weights_backbone=None, num_classes=3
)
show("segmented", segmentation.eval()(images[:1])["out"])

with tempfile.TemporaryDirectory() as folder:
    for kind in ("cats", "dogs"):
        (Path(folder) / kind).mkdir()
        for k in range(2):
            v2.functional.to_pil_image(torch.randint(0, 256, (3, 20, 24), dtype=torch.uint8)).save(
                f"{folder}/{kind}/{k}.png"
            )
    data = torchvision.datasets.ImageFolder(
        folder, v2.Compose([v2.ToImage(), v2.Resize((16, 16)), v2.ToDtype(torch.float32, True)])
    )
    for batch, kinds in torch.utils.data.DataLoader(data, batch_size=4, shuffle=True):
        show("batch", batch)
        print(data.classes, kinds.tolist())
fake = torchvision.datasets.FakeData(3, (3, 8, 8), 4, v2.PILToTensor())
print([(int(x.sum()), y) for x, y in fake])
