"""Event files, read back by a reader that shares nothing with the writer."""

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

import pellucid as torch
from pellucid.utils.tensorboard import SummaryWriter, _wire


# ---- an independent reader -------------------------------------------------------------------
def crc32c(message):
    crc = 0xFFFFFFFF
    for byte in message:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def unmasked(value):
    value = (value - 0xA282EAD8) % 2**32
    return (value >> 17 | value << 15) % 2**32


def records(path):
    raw = Path(path).read_bytes()
    at = 0
    while at < len(raw):
        (length,) = struct.unpack_from("<Q", raw, at)
        assert unmasked(struct.unpack_from("<I", raw, at + 8)[0]) == crc32c(raw[at : at + 8])
        message = raw[at + 12 : at + 12 + length]
        assert len(message) == length
        if length < 5000:
            assert unmasked(struct.unpack_from("<I", raw, at + 12 + length)[0]) == crc32c(message)
        yield message
        at += 16 + length


def fields(message):
    """{number: [raw values]} of a message."""
    found, at = {}, 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = varint()
        kind = key & 7
        if kind == 0:
            value = varint()
        elif kind == 1:
            value, at = struct.unpack_from("<d", message, at)[0], at + 8
        elif kind == 5:
            value, at = struct.unpack_from("<f", message, at)[0], at + 4
        else:
            assert kind == 2
            length = varint()
            value, at = message[at : at + length], at + length
            assert len(value) == length
        found.setdefault(key >> 3, []).append(value)
    return found


def events(folder):
    return [fields(r) for path in sorted(Path(folder).glob("events*")) for r in records(path)]


def values(folder):
    """(step, tag, fields of the value) for every summary value in the folder."""
    return [
        (event.get(2, [None])[0], fields(value)[1][0].decode(), fields(value))
        for event in events(folder) if 5 in event for value in fields(event[5][0])[1]
    ]  # fmt: skip


def plugin(value):
    data = fields(fields(value[9][0])[1][0])
    return data[1][0].decode(), data.get(2, [b""])[0]


@pytest.fixture
def written(tmp_path):
    def write(action):
        with SummaryWriter(tmp_path) as writer:
            action(writer)
        return values(tmp_path)

    return write


# ---- the wire --------------------------------------------------------------------------------
@pytest.mark.parametrize("length", [0, 1, 9, 300, (1 << 14) - 1, 1 << 14, 70001])
def test_checksum(length):
    message = np.random.default_rng(length).integers(0, 256, length, dtype=np.uint8).tobytes()
    assert _wire.crc32c(message) == crc32c(message)


def test_checksum_of_the_standard():
    assert _wire.crc32c(b"\x00" * 32) == 0x8A9136AA
    assert _wire.crc32c(bytes(range(32))) == 0x46DD794E


@pytest.mark.parametrize(
    "value, coded",
    [(0, "00"), (127, "7f"), (128, "8001"), (300, "ac02"), (-1, "ffffffffffffffffff01")],
)
def test_varint(value, coded):
    assert _wire.varint(value).hex() == coded


# ---- numbers ---------------------------------------------------------------------------------
def test_the_file_begins_with_its_version(tmp_path):
    SummaryWriter(tmp_path, filename_suffix=".mine").close()
    (path,) = tmp_path.iterdir()
    assert path.name.startswith("events.out.tfevents.") and path.name.endswith(".mine")
    assert events(tmp_path)[0][3] == [b"brain.Event:2"]


@pytest.mark.parametrize(
    "value",
    [
        0.25,
        torch.tensor(0.25),
        torch.tensor([0.25], requires_grad=True),
        np.float64(0.25),
        np.array([[0.25]]),
    ],
)
def test_scalar(written, value):
    ((step, tag, found),) = written(lambda w: w.add_scalar("loss", value, 7))
    assert (step, tag, found[2]) == (7, "loss", [0.25])


def test_scalar_with_all_digits(written):
    ((_, _, found),) = written(lambda w: w.add_scalar("loss", 0.1, double_precision=True))
    assert (
        struct.unpack("<d", fields(found[8][0])[6][0]) == (0.1,) and plugin(found)[0] == "scalars"
    )


def test_scalar_of_many_elements_is_refused(tmp_path):
    with (
        SummaryWriter(tmp_path) as writer,
        pytest.raises(AssertionError, match="should contain one element"),
    ):
        writer.add_scalar("loss", torch.ones(2))


def test_walltime(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("a", 1, 2, walltime=12.5)
    assert events(tmp_path)[1][1] == [12.5]


def test_scalars_are_runs_of_their_own(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalars("loss/all", {"train": 1.0, "test": 2.0}, 3)
    assert [v[2][2] for v in values(tmp_path / "loss_all_train")] == [[1.0]]
    assert [(v[0], v[1], v[2][2]) for v in values(tmp_path / "loss_all_test")] == [
        (3, "loss/all", [2.0])
    ]


@pytest.mark.parametrize("bins, max_bins", [("tensorflow", None), ("auto", None), (30, 7)])
def test_histogram(written, bins, max_bins):
    data = np.random.default_rng(0).normal(size=1000)
    ((_, _, found),) = written(
        lambda w: w.add_histogram("weights", data, 1, bins=bins, max_bins=max_bins)
    )
    histogram = fields(found[5][0])
    limits = np.frombuffer(histogram[6][0])
    counts = np.frombuffer(histogram[7][0])
    assert histogram[1] == [data.min()] and histogram[2] == [data.max()] and histogram[3] == [1000]
    np.testing.assert_allclose([histogram[4][0], histogram[5][0]], [data.sum(), (data**2).sum()])
    assert counts[0] == 0 and counts.sum() == 1000 and len(limits) == len(counts)
    expected, _ = np.histogram(data, limits)
    np.testing.assert_array_equal(counts[1:], expected)
    assert max_bins is None or len(counts) <= max_bins + 1


def test_histogram_of_nothing_is_refused(tmp_path):
    with SummaryWriter(tmp_path) as writer, pytest.raises(ValueError, match="no element"):
        writer.add_histogram("w", torch.zeros(0))


def test_pr_curve(written):
    labels, scores = np.array([0, 1, 1, 0, 1]), np.array([0.1, 0.9, 0.4, 0.6, 0.7])
    ((_, tag, found),) = written(
        lambda w: w.add_pr_curve("pr", labels, scores, 1, num_thresholds=11)
    )
    name, content = plugin(found)
    assert (tag, name, fields(content)[2]) == ("pr", "pr_curves", [11])
    table = np.frombuffer(fields(found[8][0])[5][0], "<f4").reshape(6, 11)
    for k in range(11):
        chosen = np.floor(scores * 10) >= k
        assert (
            table[0, k] == (labels[chosen] == 1).sum()
            and table[1, k] == (labels[chosen] == 0).sum()
        )
        assert table[3, k] == (labels[~chosen] == 1).sum()
    assert table[5, 0] == 1


def test_tensor(written):
    ((_, _, found),) = written(lambda w: w.add_tensor("t", torch.arange(6).reshape(2, 3), 1))
    body = fields(found[8][0])
    assert body[1] == [9] and np.frombuffer(body[4][0], "<i8").tolist() == list(range(6))


# ---- pictures, sound, text ---------------------------------------------------------------------
def decode(png):
    """Pixels of a PNG without filters."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at, body = 8, b""
    while at < len(png):
        length, name = struct.unpack_from(">I4s", png, at)
        chunk = png[at + 8 : at + 8 + length]
        assert struct.unpack_from(">I", png, at + 8 + length)[0] == zlib.crc32(name + chunk)
        if name == b"IHDR":
            width, height, depth, colour = struct.unpack_from(">IIBB", chunk)
        elif name == b"IDAT":
            body += chunk
        at += 12 + length
    channels = {0: 1, 2: 3, 6: 4}[colour]
    rows = np.frombuffer(zlib.decompress(body), np.uint8).reshape(height, 1 + width * channels)
    assert depth == 8 and not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, channels)


def picture(found):
    image = fields(found[4][0])
    pixels = decode(image[4][0])
    assert pixels.shape == (image[1][0], image[2][0], image[3][0])
    return pixels


def test_image_of_bytes(written):
    data = np.random.default_rng(0).integers(0, 256, (3, 200, 90), dtype=np.uint8)
    ((_, _, found),) = written(lambda w: w.add_image("i", data, 1))
    np.testing.assert_array_equal(picture(found), data.transpose(1, 2, 0))


@pytest.mark.parametrize(
    "dataformats, shape", [("HW", (4, 5)), ("HWC", (4, 5, 1)), ("CHW", (1, 4, 5))]
)
def test_grey_image_of_floats(written, dataformats, shape):
    data = torch.linspace(-0.5, 1.5, 20).reshape(shape)
    ((_, _, found),) = written(lambda w: w.add_image("i", data, dataformats=dataformats))
    expected = (
        (np.linspace(-0.5, 1.5, 20, dtype=np.float32) * 255)
        .clip(0, 255)
        .astype(np.uint8)
        .reshape(4, 5)
    )
    assert np.abs(picture(found).astype(int) - expected[:, :, None]).max() <= 1


def test_images_stand_in_a_grid(written):
    data = np.zeros((10, 3, 2, 4), np.uint8)
    data[9] = 200
    ((_, _, found),) = written(lambda w: w.add_images("i", data))
    pixels = picture(found)
    assert (
        pixels.shape == (4, 32, 3) and (pixels[2:, 4:8] == 200).all() and pixels.sum() == 200 * 24
    )


def test_wrong_layout_is_refused(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        with pytest.raises(
            AssertionError, match="size of input tensor and input format are different"
        ):
            writer.add_image("i", np.zeros((4, 5)))
        with pytest.raises(ValueError, match="1 to 4 channels"):
            writer.add_image("i", np.zeros((7, 4, 5)))


class Figure:
    """Draws itself as matplotlib's figures do."""

    dpi = 50
    bbox = type("Box", (), {"size": (6.0, 2.0)})

    def savefig(self, file, format, dpi):
        assert (format, dpi) == ("rgba", 50)
        file.write(bytes(range(48)))


def test_figure(written):
    one, two = written(
        lambda w: (w.add_figure("f", Figure()), w.add_figure("g", [Figure(), Figure()]))
    )
    assert picture(one[2])[1, 5].tolist() == [44, 45, 46] and picture(two[2]).shape == (2, 12, 3)


def test_audio(written):
    ((_, _, found),) = written(
        lambda w: w.add_audio("a", torch.tensor([0.0, 1.0, -2.0]), sample_rate=8000)
    )
    sound = fields(found[6][0])
    assert (
        sound[1] == [8000.0]
        and sound[3] == [3]
        and struct.unpack("<3h", sound[4][0][-6:]) == (0, 32767, -32767)
    )


def test_text(written):
    ((_, tag, found),) = written(lambda w: w.add_text("note", "größer", 4))
    assert (
        tag == "note/text_summary"
        and fields(found[8][0])[8] == ["größer".encode()]
        and plugin(found)[0] == "text"
    )


# ---- hyperparameters, graphs, layouts ------------------------------------------------------------
def test_hyperparameters(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_hparams(
            {"lr": 0.5, "name": "sgd", "nesterov": True},
            {"accuracy": 0.75},
            {"name": ["sgd", "adam"]},
            run_name="one",
        )
    found = {tag: value for _, tag, value in values(tmp_path / "one")}
    assert found["accuracy"][2] == [0.75]
    start = fields(fields(plugin(found["_hparams_/session_start_info"])[1])[3][0])[1]
    assert {fields(e)[1][0]: fields(fields(e)[2][0]) for e in start} == {
        b"lr": {2: [0.5]},
        b"name": {3: [b"sgd"]},
        b"nesterov": {4: [1]},
    }
    experiment = fields(fields(plugin(found["_hparams_/experiment"])[1])[2][0])
    assert [fields(i)[4] for i in experiment[4]] == [[3], [1], [2]]
    assert fields(fields(experiment[5][0])[1][0])[2] == [b"accuracy"]
    assert "_hparams_/session_end_info" in found


def test_hyperparameters_are_checked(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        with pytest.raises(TypeError, match="should be dictionary"):
            writer.add_hparams([], {})
        with pytest.raises(
            ValueError, match="value should be one of int, float, str, bool, or torch.Tensor"
        ):
            writer.add_hparams({"a": object()}, {})
        with pytest.raises(TypeError, match="should be a list of same type"):
            writer.add_hparams({"a": 1}, {}, {"a": ["x"]})


def test_graph(tmp_path):
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU())
    with SummaryWriter(tmp_path) as writer:
        writer.add_graph(model, torch.ones(4, 3))
    (graph,) = [event[4][0] for event in events(tmp_path) if 4 in event]
    nodes = {fields(n)[1][0].decode(): fields(n) for n in fields(graph)[1]}
    assert nodes["input/0"][2] == [b"Input"]
    kinds = {kind: name for name, node in nodes.items() for kind in [node[2][0].decode()]}
    linear = next(
        name for name, node in nodes.items() if name.startswith("Sequential/0/") and 3 in node
    )
    assert b"Sequential/0/weight" in [
        i for name, n in nodes.items() if name.startswith("Sequential/0/") for i in n.get(3, [])
    ]
    assert (
        linear
        and nodes["output/0"][3][0].decode().startswith("Sequential/1/")
        and "Parameter" in kinds
    )
    for node in nodes.values():
        assert all(source.decode() in nodes for source in node.get(3, []))


def test_layout(written):
    ((_, tag, found),) = written(
        lambda w: w.add_custom_scalars(
            {"c": {"t": ["Multiline", ["a", "b"]], "m": ["Margin", ["x", "y", "z"]]}}
        )
    )
    assert tag == "custom_scalars__config__" and plugin(found)[0] == "custom_scalars"
    category = fields(fields(fields(found[8][0])[8][0])[2][0])
    first, second = (fields(chart) for chart in category[2])
    assert fields(first[2][0])[1] == [b"a", b"b"] and fields(fields(second[3][0])[1][0])[3] == [
        b"z"
    ]


@pytest.mark.parametrize(
    "name", ["add_embedding", "add_mesh", "add_video", "add_image_with_boxes", "add_onnx_graph"]
)
def test_what_is_not_written_says_so(tmp_path, name):
    with (
        SummaryWriter(tmp_path) as writer,
        pytest.raises(NotImplementedError, match=f"SummaryWriter.{name} is not supported"),
    ):
        getattr(writer, name)(torch.ones(2, 2))


# ---- files -------------------------------------------------------------------------------------
def test_the_queue(tmp_path):
    writer = SummaryWriter(tmp_path, max_queue=2)
    for step in range(2):
        writer.add_scalar("a", step, step)
    assert len(events(tmp_path)) == 1
    writer.add_scalar("a", 2, 2)
    assert len(events(tmp_path)) == 4
    writer.add_scalar("a", 3, 3)
    writer.flush()
    assert len(events(tmp_path)) == 5
    writer.close()


def test_time_flushes(tmp_path):
    with SummaryWriter(tmp_path, max_queue=100, flush_secs=0) as writer:
        writer.add_scalar("a", 1)
        assert len(values(tmp_path)) == 1


def test_going_on_from_a_step(tmp_path):
    SummaryWriter(tmp_path, purge_step=5).close()
    assert [(e[2], fields(e[7][0])[1]) for e in events(tmp_path) if 7 in e] == [([5], [1])]


def test_adding_after_close_starts_a_new_file(tmp_path):
    writer = SummaryWriter(tmp_path)
    writer.close()
    writer.add_scalar("a", 1.0)
    writer.close()
    assert len(list(tmp_path.iterdir())) == 2 and len(values(tmp_path)) == 1


def test_default_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with SummaryWriter(comment="_lr1") as writer:
        folder = Path(writer.get_logdir())
    assert folder.parent == Path("runs") and folder.name.endswith("_lr1") and list(folder.iterdir())


def test_a_forgotten_writer_loses_nothing(tmp_path):
    writer = SummaryWriter(tmp_path)
    writer.add_scalar("a", 1.0)
    del writer
    assert len(values(tmp_path)) == 1


def test_summaries_of_their_own_module_are_written(tmp_path):
    from pellucid.utils.tensorboard.summary import hparams, scalar

    class Message:
        def SerializeToString(self):  # noqa: N802 (the tensorboard package's messages have it)
            return scalar("y", 2.0)

    with SummaryWriter(tmp_path) as writer:
        for part in (
            *hparams({"lr": 0.1, "name": "a"}, {"loss": 0.5}),
            scalar("x", 1.0),
            Message(),
        ):
            writer.file_writer.add_summary(part, 3)
    (file,) = tmp_path.iterdir()
    held = file.read_bytes()
    assert all(
        word in held
        for word in (b"_hparams_/experiment", b"_hparams_/session_start_info", b"lr", b"loss")
    )
    assert held.count(scalar("x", 1.0)) == held.count(scalar("y", 2.0)) == 1
    with pytest.raises(TypeError, match="hparam_dict should be a dictionary"):
        hparams([], {})


class Message:
    """What the tensorboard package's messages can do."""

    def __init__(self, encoded):
        self.encoded = encoded

    def SerializeToString(self):  # noqa: N802
        return self.encoded


def test_messages_of_the_tensorboard_package(tmp_path):
    from pellucid.utils.tensorboard.writer import FileWriter

    writer = FileWriter(str(tmp_path))
    writer.add_graph((Message(b"graph"), Message(b"profile")), walltime=3.0)
    writer.add_event(Message(_wire.double(1, 1.0) + _wire.text(3, "version")), 2, 5.0)
    writer.close()
    _, graph, profile, event = events(tmp_path)
    assert graph[4] == [b"graph"] and graph[1] == [3.0]
    assert fields(profile[14][0]) == {1: [b"step1"], 2: [b"profile"]}
    assert event[3] == [b"version"] and event[1][-1] == 5.0 and event[2] == [2]
