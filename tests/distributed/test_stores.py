"""The stores, and the server that they and the ranks talk to: what it refuses from strangers."""

import json
import re
import socket
import threading
import time
from datetime import timedelta

import pytest

from pellucid.distributed import (
    DistNetworkError,
    DistStoreError,
    FileStore,
    HashStore,
    PrefixStore,
    QueueEmptyError,
    TCPStore,
)
from pellucid.distributed.job import server as server_module
from pellucid.distributed.job.stores import connect, listen
from pellucid.distributed.job.watch import Watch


@pytest.fixture(params=["hash", "file", "tcp", "prefix"])
def pair(request, tmp_path):
    """Two views of one store."""
    if request.param == "hash":
        store = HashStore()
        yield store, store
    elif request.param == "file":
        yield FileStore(str(tmp_path / "store"), 2), FileStore(str(tmp_path / "store"), 2)
    elif request.param == "tcp":
        first = TCPStore("127.0.0.1", 0, is_master=True)
        second = TCPStore("127.0.0.1", first.port)
        yield first, second
        second.close()
        first.close()
    else:
        store = HashStore()
        yield PrefixStore("a", store), PrefixStore("a", store)


def test_what_every_store_does(pair):
    one, two = pair
    one.set("k", "v")
    assert two.get("k") == b"v" and two.check(["k"]) and not two.check(["k", "other"])
    two.set("k", b"\x00\xff\n")
    assert one.get("k") == b"\x00\xff\n"
    assert one.add("n", 2) == 2 and two.add("n", -5) == -3 and one.get("n") == b"-3"
    assert (
        two.compare_set("c", "", "first") == b"first"
        and one.compare_set("c", "wrong", "second") == b"first"
    )
    assert one.compare_set("c", "first", "second") == b"second" and two.get("c") == b"second"
    assert one.compare_set("none", "expected", "x") == b"expected" and not one.check(["none"])
    one.append("k", "more")
    assert two.get("k") == b"\x00\xff\nmore"
    assert one.num_keys() == 3 and one.list_keys() == ["c", "k", "n"]
    assert two.delete_key("k") and not one.delete_key("k") and one.num_keys() == 2
    one.multi_set(["x", "y"], ["1", "2"])
    assert two.multi_get(["x", "y"]) == [b"1", b"2"]


def test_waiting(pair):
    one, two = pair
    threading.Timer(0.1, lambda: one.set("late", "1")).start()
    assert two.get("late") == b"1"
    two.set_timeout(timedelta(seconds=0.15))
    begin = time.monotonic()
    tcp = isinstance(two, TCPStore)
    with pytest.raises(
        DistStoreError, match="wait timeout after 150ms, keys: /never" if tcp else "Wait timeout"
    ) as caught:
        two.get("never")
    assert "0.15 s; keys that are not there: " in caught.value.__notes__[0]
    with pytest.raises(DistStoreError, match="(?i)wait timeout"):
        two.wait(["late", "never"], timedelta(seconds=0.05))
    assert time.monotonic() - begin < 5
    two.wait(["late"])


def test_queues(pair):
    one, two = pair
    if isinstance(one, FileStore):
        with pytest.raises(NotImplementedError, match="queue support is not implemented"):
            one.queue_push("q", "v")
        return
    one.queue_push("q", "first")
    one.queue_push("q", b"\x00")
    assert two.queue_len("q") == 2 and two.queue_pop("q") == b"first"
    assert two.clone().queue_pop("q", block=False) == b"\x00" and one.queue_len("q") == 0
    with pytest.raises(QueueEmptyError, match="queue is empty"):
        one.queue_pop("q", block=False)
    threading.Timer(0.05, lambda: one.queue_push("q", "late")).start()
    assert two.queue_pop("q") == b"late"
    two.set_timeout(timedelta(seconds=0.02))
    with pytest.raises(DistStoreError, match="Wait timeout"):
        two.queue_pop("q")


def test_a_file_store_is_removed_by_the_last(tmp_path):
    path = tmp_path / "store"
    stores = [FileStore(str(path), 2) for _ in range(2)]
    stores[0].close()
    assert path.exists()
    stores[1].close()
    assert not path.exists()


def test_a_taken_port_and_a_missing_server():
    store = TCPStore("127.0.0.1", 0, is_master=True)
    with pytest.raises(DistNetworkError, match="EADDRINUSE"):
        TCPStore("127.0.0.1", store.port, is_master=True)
    store.close()
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    with pytest.raises(
        DistNetworkError,
        match=rf"timed out after 100ms while trying to connect to \(127.0.0.1, {port}\)",
    ):
        TCPStore("127.0.0.1", port, timeout=timedelta(seconds=0.1))


def test_strangers():
    """Nobody without the token gets in, nobody speaks nonsense, and the others do not notice."""
    listener = listen("127.0.0.1", 0)
    port = listener.getsockname()[1]
    server = server_module.in_thread(listener, size=2, token="secret")
    try:
        store = TCPStore("127.0.0.1", port, token="secret")
        for said, words in [
            ({"service": "store"}, "the token is another job's"),
            (
                {"service": "watch", "rank": 0, "size": 2, "token": "guess"},
                "the token is another job's",
            ),
            ({"service": "shell", "token": "secret"}, "not understood"),
            (
                {"service": "watch", "rank": 2, "size": 2, "token": "secret"},
                "does not belong to this job",
            ),
            (
                {"service": "pmi", "rank": 0, "size": 3, "token": "secret"},
                "does not belong to this job",
            ),
            (
                {"service": "pmi", "rank": "0", "size": 2, "token": "secret"},
                "does not belong to this job",
            ),
        ]:
            with pytest.raises(DistNetworkError, match=words):
                connect("127.0.0.1", port, said, 2.0)
        first, _ = connect(
            "127.0.0.1", port, {"service": "watch", "rank": 1, "size": 2, "token": "secret"}, 2.0
        )
        with pytest.raises(DistNetworkError, match="another process is rank 1 already"):
            connect(
                "127.0.0.1",
                port,
                {"service": "watch", "rank": 1, "size": 2, "token": "secret"},
                2.0,
            )
        for noise in (
            b"\n",
            b"[]\n",
            b"\xff\xfe\n",
            b"GET / HTTP/1.1\r\n",
            b"x" * 100_000,
            b"9" * 4000 + b"\n",
            b'{"service":["store"]}\n',
            b"",
        ):
            with socket.create_connection(("127.0.0.1", port)) as stranger:
                try:
                    stranger.sendall(noise)
                    stranger.shutdown(socket.SHUT_WR)
                    stranger.settimeout(5)
                    while stranger.recv(1 << 16):
                        pass
                except ConnectionError:
                    pass
        for wrong in (
            {"do": "set"},
            {"do": "eval", "key": "1"},
            {"do": "get", "keys": ["k"], "timeout": "x"},
            {"do": "add", "key": "k", "amount": {}},
        ):
            sock, _ = connect("127.0.0.1", port, {"service": "store", "token": "secret"}, 2.0)
            sock.sendall(json.dumps(wrong).encode() + b"\n")
            sock.settimeout(5)
            assert b"not understood" in sock.recv(1000)
            sock.close()
        store.set("still", "there")
        assert store.get("still") == b"there"
        store.close()
        watch = Watch(first, 1, 2, lambda: "")
        assert re.fullmatch(
            r"1/2 clients joined\. Missing: rank 0\. A program that speaks another protocol tried to join: "
            r"does a rank run on PyTorch\?.*",
            watch.wait_for_all(0.05),
        )
        watch.close()
    finally:
        server.stop()


def dialogue(port, rank, lines):
    sock, _ = connect(
        "127.0.0.1", port, {"service": "pmi", "rank": rank, "size": 1, "token": ""}, 2.0
    )
    answers = []
    for line in lines:
        sock.sendall(line.encode() + b"\n")
        answer = b""
        while not answer.endswith(b"\n"):
            answer += sock.recv(1)
        answers.append(answer.decode().strip())
    sock.close()
    return answers


def test_process_manager():
    """What MPICH says in MPI_Init and MPI_Finalize, and what it wants to hear."""
    listener = listen("127.0.0.1", 0)
    server = server_module.in_thread(listener, size=1)
    answers = dialogue(
        listener.getsockname()[1],
        0,
        [
            "cmd=init pmi_version=1 pmi_subversion=1",
            "cmd=get_maxes",
            "cmd=get_appnum",
            "cmd=get_my_kvsname",
            "cmd=get kvsname=kvs key=PMI_process_mapping",
            "cmd=put kvsname=kvs key=hostname[0] value=a=b c",
            "cmd=get kvsname=kvs key=hostname[0]",
            "cmd=barrier_in",
            "cmd=get_universe_size",
            "cmd=unheard_of",
            "cmd=finalize",
        ],
    )
    server.stop()
    assert answers[3].startswith("cmd=my_kvsname rc=0 kvsname=kvs_")
    assert [a for i, a in enumerate(answers) if i != 3] == [
        "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1",
        "cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=4096",
        "cmd=appnum rc=0 appnum=0",
        "cmd=get_result rc=-1 msg=key_not_found value=unknown",
        "cmd=put_result rc=0 msg=success",
        "cmd=get_result rc=0 msg=success value=a=b c",
        "cmd=barrier_out rc=0",
        "cmd=universe_size rc=0 size=1",
        "cmd=unheard_of_result rc=-1 msg=unknown",
        "cmd=finalize_ack rc=0",
    ]
