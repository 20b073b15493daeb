"""Pipes that part or join streams, and pipes of files."""

import os

import pytest

import pellucid.utils.data  # noqa: F401  (registers the methods)
from pellucid.utils.data.datapipes.iter import (
    FileLister,
    FileOpener,
    Grouper,
    IterableWrapper,
    Sampler,
    StreamReader,
)

# that functions in a test cannot be pickled is no news
pytestmark = pytest.mark.filterwarnings("ignore:(Local|Lambda) function is not supported")


def test_forks_have_all_samples():
    one, two = IterableWrapper(range(4)).fork(2)
    assert list(one) == list(two) == [0, 1, 2, 3] and len(one) == 4
    assert list(one.map(lambda x: x + 1)) == [1, 2, 3, 4]
    source = IterableWrapper([[1]])
    assert source.fork(1) is source
    first, second = source.fork(2, copy="shallow")
    assert [a == b and a is not b for a, b in zip(first, second, strict=True)] == [True]


def test_a_fork_may_not_be_too_far_ahead():
    one, _ = IterableWrapper(range(5)).fork(2, buffer_size=2)
    ahead = iter(one)
    assert [next(ahead), next(ahead)] == [0, 1]
    with pytest.raises(BufferError, match="buffer size 2 is insufficient"):
        next(ahead)


def test_a_new_iterator_of_a_part_ends_those_of_the_others():
    one, two = IterableWrapper(range(3)).fork(2)
    first = iter(one)
    assert next(first) == 0
    with pytest.warns(UserWarning, match="Some child DataPipes are not exhausted"):
        again = iter(one)
    assert next(again) == 0 == next(iter(two))
    with pytest.raises(RuntimeError, match="from one of the ChildDataPipes of _ForkerIterDataPipe"):
        next(first)


def test_streams_part_by_an_answer():
    even, odd = IterableWrapper(range(6)).demux(2, lambda x: x % 2)
    assert list(even) == [0, 2, 4] and list(odd) == [1, 3, 5]
    low, high = IterableWrapper(range(6)).demux(
        2, lambda x: None if x % 3 == 2 else x % 3, drop_none=True
    )
    assert list(low) == [0, 3] and list(high) == [1, 4]
    with pytest.raises(ValueError, match="should be between 0 and 1. 2 is returned"):
        list(IterableWrapper(range(6)).demux(2, lambda x: x % 3)[0])
    with pytest.raises(ValueError, match="larger than 0, but 0 is found"):
        IterableWrapper([1]).demux(0, bool)


def test_streams_join_in_turn():
    joined = IterableWrapper(range(2)).mux(IterableWrapper(range(10, 15)))
    assert list(joined) == [0, 10, 1, 11] and len(joined) == 4


@pytest.mark.parametrize(
    ("options", "groups"),
    [
        ({"group_size": 2}, [["a1", "a2"], ["b1", "b2"], ["a3"], ["c1"]]),
        ({"buffer_size": 3}, [["a1", "a2"], ["b1", "b2"], ["a3"], ["c1"]]),
        ({"keep_key": True}, [("a", ["a1", "a2", "a3"]), ("b", ["b1", "b2"]), ("c", ["c1"])]),
    ],
)
def test_groups(options, groups):
    assert (
        list(
            IterableWrapper(["a1", "b1", "a2", "b2", "a3", "c1"]).groupby(
                lambda name: name[0], **options
            )
        )
        == groups
    )


def test_groups_that_cannot_be():
    with pytest.raises(AssertionError, match="guaranteed_group_size must be > 0"):
        Grouper(IterableWrapper("ab"), str, guaranteed_group_size=1)
    with pytest.raises(RuntimeError, match="Failed to group items"):
        list(
            IterableWrapper(["a1", "b1", "c1"]).groupby(
                lambda name: name[0], buffer_size=2, group_size=2
            )
        )


def test_samplers_order():
    assert list(Sampler(range(3))) == [0, 1, 2] and len(Sampler(range(3))) == 3


def test_files(tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo")
    (tmp_path / "b.bin").write_text("x")
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "c.txt").write_text("deep")
    root = str(tmp_path)
    assert [os.path.basename(path) for path in FileLister(root)] == ["a.txt", "b.bin"]
    assert [os.path.basename(path) for path in FileLister(root, "*.txt", recursive=True)] == [
        "a.txt",
        "c.txt",
    ]
    assert [os.path.basename(path) for path in IterableWrapper([root]).list_files("*.txt")] == [
        "a.txt"
    ]
    opened = FileLister(root, "*.txt").open_files(mode="b")
    assert [content for _, content in StreamReader(opened, chunk=4)] == [b"one\n", b"two"]
    assert [stream.read() for _, stream in FileOpener(FileLister(root, "*.txt"))] == ["one\ntwo"]
    assert len(FileLister(root, length=3)) == 3
    with pytest.raises(
        TypeError, match="FileListerIterDataPipe instance doesn't have valid length"
    ):
        len(FileLister(root))
    with pytest.raises(ValueError, match="Invalid mode q"):
        FileOpener(FileLister(root), mode="q")
