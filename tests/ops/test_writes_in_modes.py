"""Writes by index behave alike with and without modes."""

import pytest

import pellucid as torch


@pytest.mark.filterwarnings("ignore:Use of index_put_")
@pytest.mark.parametrize(
    "mode", [torch.inference_mode, torch.no_grad, lambda: torch.autocast("cpu")]
)
def test_expanded_tensors_are_written_to_by_index_in_every_mode(mode):
    for index in ([0], torch.tensor([True, False]), (torch.tensor([0]), 0)):
        for value in (3, torch.tensor(3)):
            with mode():
                x = torch.ones(1, 4, dtype=torch.int64).expand(2, 1, 4)
                x[index] = value
            assert x.tolist() == [[[3, 3, 3, 3]]] * 2


def test_a_slice_of_a_number_is_refused_in_one_way():
    x = torch.tensor(3)
    for value in (x[...], x.clone()):
        with pytest.raises(IndexError, match="^too many indices for tensor of dimension 0"):
            x[..., 0:1] = value
