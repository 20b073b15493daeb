"""Transforms of pictures: forms, borders, draws and refusals."""

import numpy as np
import pytest

import pellucid as torch
from pellucid.datasets import transforms as T

GREY = np.arange(12, dtype=np.uint8).reshape(3, 4)
COLOUR = np.arange(60, dtype=np.uint8).reshape(4, 5, 3)
PLANES = torch.arange(60.0).reshape(3, 4, 5)


def test_to_tensor():
    np.testing.assert_array_equal(
        T.ToTensor()(COLOUR).numpy(), COLOUR.transpose(2, 0, 1).astype(np.float32) / 255
    )
    assert T.ToTensor()(GREY).shape == (1, 3, 4)
    assert T.ToTensor()(GREY.astype(np.int32)).dtype == torch.int32
    with pytest.raises(TypeError, match="an array of 1 dimensions"):
        T.ToTensor()(np.ones(3))


def test_normalize():
    result = T.Normalize((1.0, 2.0, 3.0), (2.0, 2.0, 4.0))(PLANES)
    for i, (mean, std) in enumerate(((1, 2), (2, 2), (3, 4))):
        assert torch.equal(result[i], (PLANES[i] - mean) / std)
    own = PLANES.clone()
    assert T.Normalize((0.0,), (2.0,), inplace=True)(own) is own and torch.equal(own, PLANES / 2)
    with pytest.raises(TypeError, match="Input tensor should be a float tensor. Got torch.uint8."):
        T.Normalize((0.0,), (1.0,))(torch.zeros(1, 2, 2, dtype=torch.uint8))
    with pytest.raises(ValueError, match="std evaluated to zero"):
        T.Normalize((0.0,), (0.0,))(PLANES)
    with pytest.raises(ValueError, match=r"tensor image of size \(..., C, H, W\)"):
        T.Normalize((0.0,), (1.0,))(torch.zeros(2, 2))


@pytest.mark.parametrize("kind, axis", [(T.RandomHorizontalFlip, 1), (T.RandomVerticalFlip, 0)])
def test_flips_draw_one_number(kind, axis):
    torch.manual_seed(3)
    chances = [torch.rand(1).item() < 0.4 for _ in range(20)]
    torch.manual_seed(3)
    flips = [not np.array_equal(kind(0.4)(COLOUR), COLOUR) for _ in range(20)]
    assert flips == chances and True in flips and False in flips
    np.testing.assert_array_equal(kind(1.0)(COLOUR), np.flip(COLOUR, axis))
    np.testing.assert_array_equal(kind(1.0)(GREY), np.flip(GREY, axis))
    assert torch.equal(kind(1.0)(PLANES), PLANES.flip(axis + 1))


@pytest.mark.parametrize(
    "padding, widths",
    [(1, ((1, 1), (1, 1))), ((1, 2), ((2, 2), (1, 1))), ((1, 2, 3, 0), ((2, 0), (1, 3)))],
)
@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
def test_pad(padding, widths, mode):
    options = {"constant_values": 7} if mode == "constant" else {}
    np.testing.assert_array_equal(
        T.Pad(padding, 7, mode)(GREY), np.pad(GREY, widths, mode=mode, **options)
    )
    expected = np.pad(COLOUR, (*widths, (0, 0)), mode=mode, **options)
    np.testing.assert_array_equal(T.Pad(padding, 7, mode)(COLOUR), expected)


def test_random_crop_draws_row_then_column():
    torch.manual_seed(1)
    places = [
        (torch.randint(0, 5, (1,)).item(), torch.randint(0, 6, (1,)).item()) for _ in range(10)
    ]
    padded = np.pad(COLOUR, ((1, 1), (1, 1), (0, 0)))
    torch.manual_seed(1)
    for top, left in places:
        np.testing.assert_array_equal(
            T.RandomCrop(2, padding=1)(COLOUR), padded[top : top + 2, left : left + 2]
        )
    assert len(set(places)) > 3


def test_random_crop_of_the_whole_draws_nothing():
    torch.manual_seed(1)
    expected = torch.rand(1)
    torch.manual_seed(1)
    assert torch.equal(T.RandomCrop((4, 5))(PLANES), PLANES) and torch.equal(
        torch.rand(1), expected
    )


def test_random_crop_of_small_pictures():
    with pytest.raises(
        ValueError, match=r"Required crop size \(5, 5\) is larger than input image size \(4, 5\)"
    ):
        T.RandomCrop(5)(PLANES)
    assert T.RandomCrop(9, pad_if_needed=True)(PLANES).shape == (3, 9, 9)


def test_center_crop():
    assert torch.equal(T.CenterCrop(2)(PLANES), PLANES[:, 1:3, 2:4])
    wide = T.CenterCrop((6, 2))(PLANES)
    assert wide.shape == (3, 6, 2) and not wide[:, 0].any() and not wide[:, -1].any()


@pytest.mark.parametrize(
    "size, max_size, shape",
    [(8, None, (8, 10)), ((2, 3), None, (2, 3)), (8, 9, (7, 9)), (4, None, (4, 5))],
)
def test_resize_shapes(size, max_size, shape):
    assert T.Resize(size, max_size=max_size)(PLANES).shape == (3, *shape)


def test_resize_values():
    up = T.Resize((8, 10), antialias=False)(PLANES)
    assert torch.equal(
        up, torch.nn.functional.interpolate(PLANES[None], (8, 10), mode="bilinear")[0]
    )
    assert T.Resize((2, 2), "nearest")(GREY).tolist() == [[0, 2], [4, 6]]
    flat = np.full((6, 6), 200, np.uint8)
    assert (
        T.Resize(4, "bicubic")(flat).dtype == np.uint8
        and (T.Resize(4, "bicubic")(flat) == 200).all()
    )


def test_dtypes():
    bytes_ = torch.tensor([[[0, 255]]], dtype=torch.uint8)
    floats = T.ConvertImageDtype(torch.float32)(bytes_)
    assert floats.tolist() == [[[0.0, 1.0]]]
    assert torch.equal(T.ConvertImageDtype(torch.uint8)(floats), bytes_)
    with pytest.raises(TypeError, match="floating point or uint8"):
        T.ConvertImageDtype(torch.int64)


def test_compose_and_lambda():
    both = T.Compose([T.Lambda(lambda x: x + 1), T.Lambda(lambda x: x * 2)])
    assert both(3) == 8
    assert (
        repr(T.Compose([T.ToTensor(), T.Pad(2)]))
        == "Compose(\n    ToTensor()\n    Pad(padding=2, fill=0, padding_mode=constant)\n)"
    )
    with pytest.raises(TypeError, match="Argument lambd should be callable"):
        T.Lambda(3)


@pytest.mark.parametrize("make, words", [
    (lambda: T.Pad((1, 2, 3)), "3 element tuple"), (lambda: T.Pad(1, padding_mode="wrap"), "padding_mode is one of"),
    (lambda: T.Resize(2, "linear"), "interpolation is"), (lambda: T.Resize((2, 2), max_size=3), "max_size needs"),
    (lambda: T.CenterCrop((1, 2, 3)), "only two dimensions"),
])  # fmt: skip
def test_refusals(make, words):
    with pytest.raises(ValueError, match=words):
        make()
