"""Rows of parameters that are filled without recording."""

import pellucid as torch


def test_a_row_is_filled_without_recording():
    """As models do with the row of an embedding that stands for padding."""
    weight = torch.nn.Parameter(torch.ones(3, 2))
    with torch.no_grad():
        torch.nn.init.zeros_(weight[0])
        weight[1].zero_()
        row = weight[2]
    torch.nn.init.zeros_(row)
    assert weight.abs().sum() == 0
