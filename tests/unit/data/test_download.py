"""`bench datasets --get`: address, progress, checks and the way by hand, from a server here."""

import hashlib
import io
import tarfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from bench.data import load as downloads
from bench.data.load import download
from bench.errors import DataError

datasets = pytest.importorskip("torchvision.datasets")

FILES = {"data_batch_1": b"images" * 1000, "test_batch": b"tests", "batches.meta": b"names"}


def md5(content: bytes) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def packed() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in FILES.items():
            member = tarfile.TarInfo(f"cifar-10-batches-py/{name}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


class Server:
    """Answers every request with `content`; `mute` waits, `short` ends early."""

    def __init__(self, content: bytes) -> None:
        self.content, self.requests, self.manner = content, 0, ""
        self.stop = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.requests += 1
                if outer.manner == "mute":
                    outer.stop.wait(10)
                    return
                self.send_response(404 if outer.manner == "gone" else 200)
                self.send_header("Content-Length", str(len(outer.content)))
                self.end_headers()
                sent = outer.content[: len(outer.content) // 2 if outer.manner == "short" else None]
                self.wfile.write(sent)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/cifar-10-python.tar.gz"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server that has an archive as CIFAR-10's, whose checksums are those of `FILES`."""
    content = packed()
    made = Server(content)
    source = datasets.CIFAR10
    monkeypatch.setattr(source, "url", made.url)
    monkeypatch.setattr(source, "tgz_md5", md5(content))
    listed = {name: [name, md5(part)] for name, part in FILES.items()}
    monkeypatch.setattr(source, "train_list", [listed["data_batch_1"]])
    monkeypatch.setattr(source, "test_list", [listed["test_batch"]])
    meta = {"filename": "batches.meta", "key": "label_names", "md5": listed["batches.meta"][1]}
    monkeypatch.setattr(source, "meta", meta)
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    thread = threading.Thread(target=made.http.serve_forever, args=(0.01,))
    thread.start()
    yield made
    made.stop.set()
    made.http.shutdown()
    made.http.server_close()
    thread.join()


def by_hand(server: Server, root: Path) -> str:
    return (
        f"By hand: put {server.url} (MD5 {md5(server.content)}) into {root} as "
        "cifar-10-python.tar.gz and run 'bench datasets --get cifar10' again, which checks and "
        "unpacks it."
    )


def told(root: Path) -> str:
    with pytest.raises(DataError) as fault:
        download("cifar10", root)
    assert not list(root.glob(".cifar*"))
    return str(fault.value)


def test_address_and_progress_are_told_and_files_checked(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    download("cifar10", tmp_path)
    lines = capsys.readouterr().err.splitlines()
    path = tmp_path / "cifar-10-python.tar.gz"
    assert lines[0] == (
        f"bench: cifar10: fetching {server.url} to {path} (stops after 30 s without data)"
    )
    assert any(line.startswith("100%") for line in lines[1:-1])
    assert lines[-1] == f"bench: cifar10: unpacking {path}"
    for name, content in FILES.items():
        assert (tmp_path / "cifar-10-batches-py" / name).read_bytes() == content
    download("cifar10", tmp_path)
    assert capsys.readouterr().err == f"bench: cifar10: the data set is complete in {tmp_path}\n"
    (tmp_path / "cifar-10-batches-py" / "batches.meta").write_bytes(b"torn")
    download("cifar10", tmp_path)
    assert f"found {path}, and its MD5 is correct" in capsys.readouterr().err
    assert server.requests == 1


def test_an_archive_placed_by_hand_needs_no_network(server: Server, tmp_path: Path) -> None:
    (tmp_path / "cifar-10-python.tar.gz").write_bytes(server.content)
    server.manner = "gone"
    download("cifar10", tmp_path)
    assert (tmp_path / "cifar-10-batches-py" / "test_batch").read_bytes() == b"tests"
    assert server.requests == 0


def test_without_an_answer_the_way_by_hand_is_told(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(downloads, "TIMEOUT_S", 0.2)
    server.manner = "mute"
    assert told(tmp_path) == f"cifar10: download failed (timed out). {by_hand(server, tmp_path)}"
    server.manner = "gone"
    assert told(tmp_path) == (
        f"cifar10: download failed (HTTP Error 404: Not Found). {by_hand(server, tmp_path)}"
    )


def test_half_an_archive_or_another_one_is_not_kept(server: Server, tmp_path: Path) -> None:
    published = server.content
    server.manner = "short"
    half = published[: len(published) // 2]
    assert told(tmp_path).startswith(
        f"cifar10: the file downloaded from {server.url} has MD5 "
        f"{md5(half)}, not {md5(published)}. By hand"
    )
    server.manner, server.content = "", b"something else"
    assert f" has MD5 {md5(server.content)}, not {md5(published)}. By" in told(tmp_path)
    assert list(tmp_path.iterdir()) == []
