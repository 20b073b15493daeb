"""DLPack between PyTorch and Pellucid: bfloat16 too, in one memory, and the same refusals."""

import pytest

torch = pytest.importorskip("torch")
import pellucid  # noqa: E402

PAIRS = [(torch, pellucid), (pellucid, torch), (pellucid, pellucid)]


@pytest.mark.parametrize("kind", ["bfloat16", "float16", "float32", "complex64", "int8", "bool"])
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_memory_is_shared(source, target, kind):
    given = source.zeros(2, 3, dtype=getattr(source, kind)).T
    for made in (
        target.from_dlpack(given),
        target.from_dlpack(given.__dlpack__()),
        target.from_dlpack(given.__dlpack__(max_version=(1, 0))),
    ):
        assert made.dtype is getattr(target, kind) and made.stride() == given.stride()
        made[1, 1] = 1
        assert given.tolist() == [[0, 0], [0, 1], [0, 0]]
        given[1, 1] = 0


def test_a_capsule_is_consumed_once():
    capsule = pellucid.ones(2, dtype=pellucid.bfloat16).__dlpack__()
    pellucid.from_dlpack(capsule)
    with pytest.raises(RuntimeError, match="capsules can be consumed only once"):
        pellucid.from_dlpack(capsule)


@pytest.mark.parametrize("stream", [0, 1, 2, -1, None, "a", 1.5])
def test_streams_are_refused_as_in_pytorch(stream):
    def told(root):
        try:
            return type(root.ones(2).__dlpack__(stream=stream)).__name__
        except Exception as error:
            return type(error).__name__, str(error)

    assert told(pellucid) == told(torch)


def test_meta_tensors_have_no_memory():
    for root in (torch, pellucid):
        with pytest.raises(BufferError, match="Cannot pack tensors on meta"):
            root.ones(2, device="meta").__dlpack__()


class Offers:
    """An object with the older protocol, without versions."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, stream=None):
        return self.tensor.__dlpack__()

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


@pytest.mark.parametrize("kind", ["bfloat16", "float32"])
def test_objects_of_before_there_were_versions_share_their_memory(kind):
    for root in (torch, pellucid):
        x = root.zeros(3, dtype=getattr(root, kind))
        root.from_dlpack(Offers(x))[1] = 5
        assert x.tolist() == [0, 5, 0]
