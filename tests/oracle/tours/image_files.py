"""torchvision's image files: written and read in every mode, by format."""

import os
import tempfile

import torch
from PIL import Image
from torchvision import io

torch.manual_seed(0)
ramp = torch.linspace(0, 170, 40)
picture = (torch.rand(4, 24, 40) * 80 + ramp).clamp(0, 255).byte()
folder = tempfile.mkdtemp()


def tell(name, made):
    places = torch.arange(made.numel())
    print(
        name, made.dtype, tuple(made.shape), made.stride(), (made.reshape(-1) * places).sum().item()
    )


pixels = picture.permute(1, 2, 0).numpy()
turned = Image.Exif()
turned[0x112] = 6
for name, image, options in (
    ("L.png", Image.fromarray(pixels[..., 0]), {}),
    ("LA.png", Image.fromarray(pixels[..., :2].copy(), "LA"), {}),
    ("RGB.png", Image.fromarray(pixels[..., :3]), {}),
    ("RGBA.png", Image.fromarray(pixels), {}),
    ("turned.png", Image.fromarray(pixels[..., :3]), {"exif": turned}),
    ("RGB.jpg", Image.fromarray(pixels[..., :3]), {"quality": 90}),
    ("L.jpg", Image.fromarray(pixels[..., 0]), {}),
    ("CMYK.jpg", Image.fromarray(pixels[..., :3]).convert("CMYK"), {}),
    ("turned.jpg", Image.fromarray(pixels[..., :3]), {"exif": turned}),
    ("RGB.webp", Image.fromarray(pixels[..., :3]), {"lossless": True}),
    ("RGBA.webp", Image.fromarray(pixels), {"lossless": True}),
    ("a.gif", Image.fromarray(pixels[..., :3]), {}),
    (
        "several.gif",
        Image.fromarray(pixels[..., :3]),
        {"save_all": True, "append_images": [Image.fromarray(255 - pixels[..., :3])]},
    ),
):
    path = os.path.join(folder, name)
    image.save(path, **options)
    for mode in io.ImageReadMode:
        try:
            tell(f"{name} {mode.name}", io.read_image(path, mode))
        except RuntimeError as error:
            print(f"{name} {mode.name}", str(error).rpartition(", ")[2])
    tell(f"{name} upright", io.decode_image(path, io.ImageReadMode.RGB, True))
colors = picture[:3].contiguous()
tell("png", io.decode_png(io.encode_png(colors)))
for quality in (30, 75, 100):
    tell(f"jpeg {quality}", io.decode_jpeg(io.encode_jpeg(colors, quality)))
    print(io.encode_jpeg(colors, quality).shape)
io.write_jpeg(colors, os.path.join(folder, "made.jpg"))
tell("made", io.read_image(os.path.join(folder, "made.jpg"), io.ImageReadMode.GRAY))
