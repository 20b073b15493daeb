"""DistributedSampler against PyTorch's: the shares of all processes, their lengths, epochs."""

import pytest

torch = pytest.importorskip("torch")
from torch.utils.data.distributed import DistributedSampler as Theirs  # noqa: E402

from pellucid.utils.data import DistributedSampler as Ours  # noqa: E402


@pytest.mark.parametrize("n", [0, 1, 5, 8, 13])
@pytest.mark.parametrize("replicas", [1, 3, 4])
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("drop_last", [False, True])
def test_shares(n, replicas, shuffle, drop_last):
    for rank in range(replicas):
        shares = [kind(range(n), replicas, rank, shuffle, 7, drop_last) for kind in (Theirs, Ours)]
        for epoch in (0, 3):
            for share in shares:
                share.set_epoch(epoch)
            if n:
                assert list(shares[0]) == list(shares[1])
            assert len(shares[0]) == len(shares[1])


def test_refusals():
    for kind in (Theirs, Ours):
        with pytest.raises(
            ValueError, match=r"^Invalid rank 3, rank should be in the interval \[0, 2\]"
        ):
            kind(range(4), 3, 3)
    with pytest.raises(
        (RuntimeError, ValueError),
        match="^Requires distributed package|^Default process group has not been initialized",
    ):
        Ours(range(4))
