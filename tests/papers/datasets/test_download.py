import hashlib
import http.server
import re
import threading
from dataclasses import replace

import pytest

from ordinate.errors import OrdinateError
from ordinate_papers.datasets.download import Download, fetch

CONTENT = bytes(range(256)) * 1024  # four chunks


class Server(http.server.ThreadingHTTPServer):
    """Sends CONTENT under /whole, half of it under /broken, and CONTENT without end under /endless."""

    requests = 0

    class RequestHandlerClass(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.server.requests += 1
            if self.path not in ("/whole", "/broken", "/endless"):
                self.send_error(404)
                return
            self.send_response(200)
            if self.path != "/endless":
                self.send_header("Content-Length", str(len(CONTENT)))
            self.end_headers()
            if self.path == "/endless":
                try:
                    while True:
                        self.wfile.write(CONTENT)
                except ConnectionError:
                    return
            self.wfile.write(CONTENT if self.path == "/whole" else CONTENT[: len(CONTENT) // 2])

        def log_message(self, *_):
            pass

    def __init__(self):
        super().__init__(("127.0.0.1", 0), self.RequestHandlerClass)


@pytest.fixture
def server():
    with Server() as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def download(server):
    url = f"http://127.0.0.1:{server.server_port}/whole"
    return Download(url, "set.npz", len(CONTENT), hashlib.sha256(CONTENT).hexdigest())


def test_a_file_is_fetched_whole_into_a_new_folder(download, tmp_path):
    path = fetch(download, tmp_path / "a" / "b")
    assert path == tmp_path / "a" / "b" / "set.npz"
    assert path.read_bytes() == CONTENT
    assert [file.name for file in path.parent.iterdir()] == ["set.npz"]


def test_a_file_that_is_there_is_not_fetched_again(download, server, tmp_path):
    fetch(download, tmp_path)
    assert fetch(download, tmp_path).read_bytes() == CONTENT
    assert server.requests == 1


def assert_refused(download, folder, message):
    with pytest.raises(OrdinateError, match=message) as refused:
        fetch(download, folder)
    assert "\n" not in str(refused.value)
    assert list(folder.iterdir()) == []


def test_a_file_with_another_hash_is_refused_and_removed(download, tmp_path):
    assert_refused(replace(download, sha256="0" * 64), tmp_path, "got a file with another sha256")


def test_a_server_that_breaks_off_leaves_nothing(download, tmp_path):
    broken = replace(download, url=download.url.replace("whole", "broken"))
    assert_refused(broken, tmp_path, f"got {len(CONTENT) // 2:,} bytes, expected {len(CONTENT):,}; try again later")
    assert fetch(download, tmp_path).read_bytes() == CONTENT


def test_a_page_that_is_not_there_is_an_error(download, tmp_path):
    gone = replace(download, url=download.url.replace("whole", "gone"))
    assert_refused(gone, tmp_path, re.escape(f"{gone.url}: could not be fetched to {tmp_path / 'set.npz'}: Not Found"))


def test_without_a_network_it_says_so(download, tmp_path):
    alone = replace(download, url="http://127.0.0.1:9/set.npz")  # the port of discard, which nothing listens on
    assert_refused(alone, tmp_path, "could not be fetched to .*: .*refused")


def test_a_server_that_never_stops_is_left(download, tmp_path):
    endless = replace(download, url=download.url.replace("whole", "endless"))
    assert_refused(endless, tmp_path, f"expected {len(CONTENT):,}; try again later")


def test_another_file_of_the_name_is_left_alone(download, server, tmp_path):
    (tmp_path / "set.npz").write_text("mine")
    with pytest.raises(OrdinateError, match=r"set.npz: got another file, expected the one published; remove it"):
        fetch(download, tmp_path)
    assert (tmp_path / "set.npz").read_text() == "mine"
    assert server.requests == 0
