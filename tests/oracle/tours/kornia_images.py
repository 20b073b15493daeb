"""kornia: colors, filters, geometry, features and augmentation, with gradients."""

import kornia
import kornia.augmentation as K
import torch
from _parts import show

torch.manual_seed(0)
image = torch.rand(2, 3, 24, 32, requires_grad=True)
show("grey", kornia.color.rgb_to_grayscale(image))
show("hsv", kornia.color.rgb_to_hsv(image))
show("lab", kornia.color.rgb_to_lab(image))
show("blur", kornia.filters.gaussian_blur2d(image, (3, 3), (1.5, 1.5)))
show("edges", kornia.filters.canny(image)[0])
show("sobel", kornia.filters.sobel(image))
show("median", kornia.filters.median_blur(image, (3, 3)))
show("equalized", kornia.enhance.equalize_clahe(image.detach(), grid_size=(2, 2)))
show("gamma", kornia.enhance.adjust_gamma(image, 0.7))
show("eroded", kornia.morphology.erosion(image, torch.ones(3, 3)))
angle = torch.tensor([10.0, -20.0], requires_grad=True)
turned = kornia.geometry.transform.rotate(image, angle)
loss = (turned - image).abs().mean() + kornia.losses.ssim_loss(turned, image, 5)
loss.backward()
show("loss", loss)
show("gradient of the angle", angle.grad)
show("gradient of the image", image.grad.abs())
points = torch.rand(1, 8, 2) * 20
homography = torch.tensor([[[1.1, 0.1, 2.0], [-0.1, 0.9, 1.0], [0.001, 0.0, 1.0]]])
moved = kornia.geometry.transform_points(homography, points)
show("found", kornia.geometry.find_homography_dlt(points, moved).abs())
show("warped", kornia.geometry.warp_perspective(image, homography.expand(2, 3, 3), (20, 20)))
show("quaternion", kornia.geometry.conversions.rotation_matrix_to_quaternion(torch.eye(3)[None]))
show("corners", kornia.feature.harris_response(image.mean(1, keepdim=True)))
show("described", kornia.feature.SIFTDescriptor(16)(torch.rand(3, 1, 16, 16)))
steps = K.AugmentationSequential(
    K.RandomHorizontalFlip(p=0.5),
    K.RandomAffine(15.0, p=1.0),
    K.ColorJitter(0.1, 0.1, 0.1, 0.1, p=1.0),
    K.RandomErasing(p=0.5),
    data_keys=["input", "mask"],
)
made, mask = steps(image.detach(), torch.ones(2, 1, 24, 32))
show("augmented", made)
show("mask", mask)
show("back", steps.inverse(made, mask)[0])
show("dice", kornia.losses.dice_loss(torch.randn(2, 3, 4, 4), torch.randint(0, 3, (2, 4, 4))))
tracker = kornia.geometry.ImageRegistrator("similarity", num_iterations=5)
show("registered", tracker.register(image.detach()[:1], turned.detach()[:1]))
