"""The operators of torchvision's compiled part, which `torch.ops.load_library` of it defines."""

import subprocess
import sys

import pytest

import pellucid as torch
from pellucid.nn import functional as F


@pytest.fixture(scope="module")
def vision():
    torch.ops.load_library("/somewhere/torchvision/_C.so")
    return torch.ops.torchvision


def test_other_libraries_are_refused():
    with pytest.raises(OSError, match=r"Could not load this library: /somewhere/other/_C\.so"):
        torch.ops.load_library("/somewhere/other/_C.so")


def test_an_operator_that_the_program_has_declared_is_computed_here_too():
    program = (
        "import pellucid as torch\n"
        "torch.library.define('torchvision::nms', '(Tensor dets, Tensor scores, float iou_threshold) -> Tensor')\n"
        "torch.library.define('torchvision::qnms', '(Tensor dets, Tensor scores, float iou_threshold) -> Tensor')\n"
        "torch.ops.load_library('/somewhere/torchvision/_C.so')\n"
        "print(torch.ops.torchvision.nms(torch.tensor([[0.0, 0, 1, 1], [0, 0, 1, 1]]), torch.tensor([1.0, 2.0]), 0.5))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300
    )
    assert done.stdout == "tensor([1])\n", done.stderr


def test_nms(vision):
    boxes = torch.tensor([[0.0, 0, 10, 10], [1, 1, 10, 10], [20, 20, 30, 30], [0, 0, 4, 10]])
    assert vision.nms(boxes, torch.tensor([0.5, 0.9, 0.1, 0.4]), 0.5).tolist() == [1, 3, 2]
    assert vision.nms(boxes, torch.tensor([0.5, 0.9, 0.1, 0.4]), 0.9).tolist() == [1, 0, 3, 2]
    assert vision.nms(boxes[:0], torch.zeros(0), 0.5).tolist() == []
    with pytest.raises(RuntimeError, match="boxes should have 4 elements in dimension 1, got 3"):
        vision.nms(boxes[:, :3], torch.zeros(4), 0.5)
    with pytest.raises(
        RuntimeError,
        match="boxes and scores should have same number of elements in dimension 0, got 4 and 3",
    ):
        vision.nms(boxes, torch.zeros(3), 0.5)


def test_rotated_boxes(vision):
    box = torch.tensor([[5.0, 5, 4, 2, 0]])
    others = torch.tensor(
        [
            [5.0, 5, 4, 2, 0],
            [5, 5, 2, 4, 90],
            [5, 5, 4, 2, 90],
            [7, 5, 4, 2, 180],
            [50, 5, 4, 2, 30],
        ]
    )
    made = vision.box_iou_rotated(box, others)
    assert torch.allclose(made, torch.tensor([[1.0, 1.0, 4 / 12, 4 / 12, 0.0]]), atol=1e-5)


def test_a_region_of_whole_pixels_is_what_it_reads(vision):
    x = torch.arange(48, dtype=torch.float64).reshape(1, 2, 4, 6)
    whole = torch.tensor([[0.0, 0, 0, 6, 4]], dtype=torch.float64)
    assert torch.allclose(vision.roi_align(x, whole, 1.0, 4, 6, 1, True), x)
    assert torch.allclose(vision.roi_align(x, whole, 1.0, 2, 3, 2, True), F.avg_pool2d(x, 2))
    assert torch.allclose(vision.roi_align(x, whole, 1.0, 2, 3, -1, True), F.avg_pool2d(x, 2))
    # outside
    assert (
        vision.roi_align(x, whole + torch.tensor([0.0, 90, 90, 90, 90]), 1.0, 2, 2, 2, False)
        .abs()
        .sum()
        == 0
    )
    made, places = vision.roi_pool(
        x, torch.tensor([[0.0, 0, 0, 5, 3]], dtype=torch.float64), 1.0, 2, 3
    )
    wanted, indices = F.max_pool2d(x, 2, return_indices=True)
    assert torch.equal(made, wanted) and torch.equal(places.long(), indices)
    assert places.dtype is torch.int32
    with pytest.raises(RuntimeError, match=r"rois must have shape as Tensor\[K, 5\]"):
        vision.roi_align(x, whole[:, :4], 1.0, 2, 2, 2, True)


def test_position_sensitive_regions_read_a_channel_for_each_bin(vision):
    x = torch.arange(8.0).reshape(1, 8, 1, 1).expand(1, 8, 5, 5).contiguous()
    rois = torch.tensor([[0.0, 0, 0, 4, 4]])
    for made, places in (
        vision.ps_roi_align(x, rois, 1.0, 2, 2, 2),
        vision.ps_roi_pool(x, rois, 1.0, 2, 2),
    ):
        assert torch.allclose(made, torch.arange(8.0).reshape(1, 2, 2, 2))
        assert places.tolist() == made.int().tolist()
    with pytest.raises(RuntimeError, match="multiple of pooling height"):
        vision.ps_roi_pool(x[:, :7], rois, 1.0, 2, 2)


def test_backward_operators_are_the_transposes(vision):
    """<forward(x), g> = <x, backward(g)>: the operators are linear in the image, but for the
    maxima, which are taken as they fell.
    """
    torch.manual_seed(0)
    x = torch.randn(2, 8, 5, 6, dtype=torch.float64)
    rois = torch.tensor(
        [[0, 1.0, 2, 5, 4], [1, 0, 0, 6, 5], [1, -2, 3, 2, 9.0]], dtype=torch.float64
    )
    sizes = (2, 8, 5, 6)
    for ratio in (-1, 2):
        for aligned in (False, True):
            y = vision.roi_align(x, rois, 0.7, 2, 2, ratio, aligned)
            g = torch.randn(y.shape, dtype=torch.float64)
            back = vision._roi_align_backward(g, rois, 0.7, 2, 2, *sizes, ratio, aligned)
            assert torch.allclose((y * g).sum(), (x * back).sum())
        y, places = vision.ps_roi_align(x, rois, 0.7, 2, 2, ratio)
        g = torch.randn(y.shape, dtype=torch.float64)
        back = vision._ps_roi_align_backward(g, rois, places, 0.7, 2, 2, ratio, *sizes)
        assert torch.allclose((y * g).sum(), (x * back).sum())
    for forward, backward in (
        (vision.roi_pool, vision._roi_pool_backward),
        (vision.ps_roi_pool, vision._ps_roi_pool_backward),
    ):
        rois = torch.tensor([[0, 1.0, 2, 5, 4], [1, 0, 0, 6, 5]], dtype=torch.float64)
        y, places = forward(x, rois, 0.7, 2, 2)
        g = torch.randn(y.shape, dtype=torch.float64)
        assert torch.allclose(
            (y * g).sum(), (x * backward(g, rois, places, 0.7, 2, 2, *sizes)).sum()
        )


def test_bins_at_the_border_are_cut_later_on_the_way_back(vision):
    rois = torch.tensor([[0.0, 0, 0, 4, 4]])
    y, places = vision.ps_roi_pool(torch.arange(64.0).view(1, 4, 4, 4), rois, 1.0, 2, 2)
    assert y.flatten().tolist() == [2.5, 20, 40.5, 58]  # torchvision 0.28
    back = vision._ps_roi_pool_backward(torch.ones_like(y), rois, places, 1.0, 2, 2, 1, 4, 4, 4)
    assert back[0, 3].tolist() == [[0] * 4, [0] * 4, [0, 0, 0.25, 0.25], [0, 0, 0.25, 0.25]]


def test_deformable_convolution(vision):
    torch.manual_seed(0)
    kind = torch.float64
    x, w, b = (
        torch.randn(2, 4, 5, 6, dtype=kind),
        torch.randn(4, 2, 3, 3, dtype=kind),
        torch.randn(4, dtype=kind),
    )
    still, ones = (
        torch.zeros(2, 2 * 2 * 9, 3, 3, dtype=kind),
        torch.ones(2, 2 * 9, 3, 3, dtype=kind),
    )
    numbers = (2, 2, 1, 1, 1, 1, 2, 2)
    assert torch.allclose(
        vision.deform_conv2d(x, w, still, ones, b, *numbers, True),
        F.conv2d(x, w, b, 2, 1, groups=2),
    )
    right = still.clone()
    right[:, 1::2] = 1  # every pixel is read one column further on
    moved = F.pad(x[..., 1:], (0, 1))
    assert torch.allclose(
        vision.deform_conv2d(x, w, right, ones, b, *numbers, False)[..., 1:],
        F.conv2d(moved, w, b, 2, 1, groups=2)[..., 1:],
    )
    offset, mask = torch.randn(still.shape, dtype=kind), torch.rand(ones.shape, dtype=kind)
    inputs = [x, w, offset, mask, b]
    y = vision.deform_conv2d(*inputs, *numbers, True)
    g = torch.randn(y.shape, dtype=kind)
    found = vision._deform_conv2d_backward(g, *inputs, *numbers, True)
    step = 1e-6
    for k, grad in enumerate(found):
        direction = torch.randn(inputs[k].shape, dtype=kind)
        ahead, behind = (
            vision.deform_conv2d(
                *inputs[:k], inputs[k] + s * step * direction, *inputs[k + 1 :], *numbers, True
            )
            for s in (1, -1)
        )
        assert torch.allclose(
            ((ahead - behind) * g).sum() / (2 * step), (grad * direction).sum(), rtol=1e-4
        )
    with pytest.raises(RuntimeError, match="offset.shape.1. is not valid: got: 35 expected: 36"):
        vision.deform_conv2d(x, w, offset[:, :35], mask, b, *numbers, True)


def test_a_parameters_subclass_takes_arguments_of_its_own():
    class Placed(torch.nn.Parameter):
        def __new__(cls, data=None, place=None, requires_grad=True):
            made = torch.Tensor._make_subclass(cls, data, requires_grad)
            made.place = place
            return made

    p = Placed(torch.ones(2), place="here")
    assert p.place == "here" and p.requires_grad and isinstance(p, torch.nn.Parameter)
