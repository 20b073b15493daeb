"""What tours share: it is imported by each of them before its library."""

import torch


def without_compiled_operators():
    """torchvision registers rules for operators of its compiled part, which may not be loadable;
    then they are declared first.
    """
    for name in ("nms", "qnms"):
        try:
            torch.library.define(
                f"torchvision::{name}",
                "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
            )
        except RuntimeError:  # it is there
            return


def show(name, value):
    """Print a number, or a sum over a tensor, with few enough digits to be compared."""
    value = value.detach().double().sum().item() if isinstance(value, torch.Tensor) else value
    print(name, f"{value:.4f}" if isinstance(value, float) else value)


def part(function):
    """Run a function of a tour, by its name and from the same seed."""
    torch.manual_seed(0)
    print("--", function.__name__)
    function()
    return function
