"""Futures: errors of callbacks, results given twice, and what is refused."""

import pickle

import pytest

import pellucid as torch

Future = torch.futures.Future


def boom(_):
    raise ValueError("Expected error")


def test_errors_of_callbacks_go_no_further(capsys):
    future = Future()
    future.add_done_callback(boom)
    future.add_done_callback(lambda: None)
    future.set_result(5)
    assert future.wait() == 5
    written = capsys.readouterr().err
    assert "Got the following error when running the callback: ValueError: Expected" in written
    assert "takes 0 positional arguments but 1 was given" in written


def test_errors_of_functions_in_a_chain():
    future = Future()
    later, plain = future.then(boom), future.then(lambda: 1)
    future.set_result(5)
    text = "Got the following error when running the callback: ValueError: Expected error\n\nAt:\n"
    with pytest.raises(RuntimeError) as caught:
        later.wait()
    assert str(caught.value).startswith(text)
    with pytest.raises(RuntimeError, match=r"callback: TypeError: .* takes 0 positional"):
        plain.wait()


@pytest.mark.parametrize(
    "second", [lambda f: f.set_result(1), lambda f: f.set_exception(OSError())]
)
def test_a_result_is_given_once(second):
    future = Future()
    future.set_result(1)
    with pytest.raises(RuntimeError, match="Attempting to mark a completed Future as complete ag"):
        second(future)


def test_one_error_ends_the_wait_for_all():
    first, second = Future(), Future()
    both = torch.futures.collect_all([first, second])
    first.set_exception(RuntimeError("x"))
    second.set_result(1)
    with pytest.raises(RuntimeError, match="^x$"):
        both.wait()


def test_refusals():
    with pytest.raises(RuntimeError, match="Can not pickle torch.futures.Future"):
        pickle.dumps(Future())
    with pytest.raises(ValueError, match="Expected devices to have indices, got cpu"):
        Future(devices=["cpu"])
    with pytest.raises(TypeError, match=r"^then\(\): incompatible function arguments"):
        Future().then(1)
    with pytest.raises(TypeError, match=r"^_collect_all\(\): incompatible function arguments"):
        torch.futures.collect_all([1])
