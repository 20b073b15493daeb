"""Indices outside of the table of an embedding bag: PyTorch's words, which depend on the way it
takes.
"""

import pytest

import pellucid as torch

BAG = "embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be {}"
SUMMED = "Index 1 of input takes value {} which is not in the valid range [0, 5)"


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("bad", [7, -1])
@pytest.mark.parametrize(
    ("mode", "padding", "text"),
    [
        ("sum", None, SUMMED),
        ("mean", None, SUMMED),
        ("max", None, BAG),
        ("sum", 0, BAG),
        ("mean", 0, BAG),
        ("max", 0, BAG),
    ],
)
def test_refused(mode, padding, text, bad, compiled):
    def look(weight, index):
        return torch.nn.functional.embedding_bag(
            index, weight, torch.tensor([0]), mode=mode, padding_idx=padding
        )

    weight = torch.ones(5, 3)
    call = torch.compile(look) if compiled else look
    for _ in range(2):
        call(weight, torch.tensor([0, 1]))
    with pytest.raises(RuntimeError) as caught:
        call(weight, torch.tensor([0, bad]))
    assert type(caught.value) is RuntimeError and str(caught.value) == text.format(bad)


def test_the_old_order_of_arguments_computes_with_a_warning():
    weight, places, starts = torch.eye(3), torch.tensor([0, 2, 1]), torch.tensor([0, 2])
    with pytest.warns(
        UserWarning, match="Argument order of nn.functional.embedding_bag was changed"
    ):
        found = torch.nn.functional.embedding_bag(weight, places, starts)
    assert torch.equal(found, torch.nn.functional.embedding_bag(places, weight, starts))
