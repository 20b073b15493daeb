"""Generators, streams and events take None for the processor; a stream has nothing to wait for."""

import pytest

import pellucid as torch


@pytest.mark.parametrize("made", [torch.Generator, torch.Stream, torch.Event])
def test_none_is_the_processor(made):
    assert made(device=None).device == made(None).device == made().device == torch.device("cpu")


def test_a_generator_without_a_device_draws_the_same():
    one, other = torch.Generator(device=None), torch.Generator("cpu")
    assert torch.equal(torch.rand(3, generator=one), torch.rand(3, generator=other))


def test_streams_of_one_device_are_equal():
    stream = torch.Stream(device="cpu")
    assert stream == torch.Stream() and hash(stream) == hash(torch.Stream())
    assert stream != torch.Stream(device="meta")
    assert stream.query() and stream.synchronize() is None
    with stream as entered:
        assert entered is stream
    assert (stream.device_type, stream.device_index, stream.stream_id) == (0, -1, 0)
    assert repr(stream) == "torch.Stream device_type=cpu, device_index=-1, stream_id=0"


def test_the_processor_records_no_events():
    stream, event = torch.Stream(), torch.Event(enable_timing=True)
    assert event.query() and event.wait(stream) is None and stream.wait_event(event) is None
    for call in (event.record, stream.record_event, lambda: stream.wait_stream(stream)):
        with pytest.raises(RuntimeError, match="cpu backend doesn't support events"):
            call()
    with pytest.raises(ValueError, match="must be recorded before"):
        event.elapsed_time(torch.Event(enable_timing=True))
    with pytest.raises(ValueError, match="enable_timing=True"):
        event.elapsed_time(torch.Event())
    assert repr(event) == "torch.Event device_type=cpu, device_index=-1, event_flag=1, event_id=0"


def test_devices_that_are_not_there():
    for made in (torch.Stream, torch.Event):
        with pytest.raises(RuntimeError, match="not linked with support for cuda devices"):
            made("cuda")


def test_a_scaler_for_no_device_in_particular_is_on():
    assert torch.amp.GradScaler(None).is_enabled()
