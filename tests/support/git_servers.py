"""Real git servers on loopback: sshd with a key of its own, and git's own HTTP backend, in the clear or under TLS."""

import base64
import datetime as dt
import os
import pwd
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import IPv4Address
from pathlib import Path
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.support.house import until

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
_SSHD = """
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host
AuthorizedKeysFile {folder}/authorized
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
"""


@dataclass(frozen=True, slots=True)
class SshServer:
    """A running sshd, the key that it lets in, and the file that knows its host key."""

    port: int
    key: Path
    known_hosts: Path
    user: str

    def address(self, repo: Path) -> str:
        return f"ssh://{self.user}@127.0.0.1:{self.port}{repo}"


def make_key(path: Path, *, passphrase: str = "") -> Path:
    """Make an ssh key at *path*."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-f", str(path)], check=True)
    return path


@contextmanager
def ssh_server(folder: Path) -> Iterator[SshServer]:
    """Run sshd until the end of the block; its files stand in *folder*."""
    assert SSHD is not None
    if os.geteuid() == 0:  # sshd of root insists on it
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    port = free_port()
    make_key(folder / "host")
    key = make_key(folder / "key")
    shutil.copy(folder / "key.pub", folder / "authorized")
    known = folder / "known_hosts"
    known.write_text(f"[127.0.0.1]:{port} {(folder / 'host.pub').read_text()}")
    (folder / "config").write_text(_SSHD.format(port=port, folder=folder))
    log = (folder / "log").open("wb")
    server = subprocess.Popen([SSHD, "-D", "-e", "-f", str(folder / "config")], stderr=log)
    try:
        until(lambda: _listens(port))
        yield SshServer(port, key, known, pwd.getpwuid(os.getuid()).pw_name)
    finally:
        server.terminate()
        server.wait(20)
        log.close()


@dataclass
class HttpServer:
    """A running git server: *root* holds its repositories. What each request was is in ``asked``."""

    url: str
    ca_file: Path
    login: str = ""
    redirect: str = ""
    asked: list[tuple[str, str]] = field(default_factory=list)  # path and authorization


@contextmanager
def http_server(root: Path, folder: Path, *, tls: bool) -> Iterator[HttpServer]:
    """Serve the repositories in *root* until the end of the block; certificates stand in *folder*."""
    script = HttpServer("", folder / "ca.pem")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            given = self.headers.get("authorization", "")
            script.asked.append((self.path, given))
            if script.redirect:
                self._say(302, location=script.redirect + self.path)
            elif script.login and given != f"Basic {base64.b64encode(script.login.encode()).decode()}":
                self._say(401, **{"www-authenticate": 'Basic realm="git"'})
            else:
                self._backend()

        do_GET = do_POST = answer  # noqa: N815 - the names that http.server calls

        def _say(self, status: int, **headers: str) -> None:
            self.send_response(status)
            for name, value in {**headers, "content-length": "0"}.items():
                self.send_header(name, value)
            self.end_headers()

        def _backend(self) -> None:
            parts = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            variables = {
                "PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": str(root), "GIT_HTTP_EXPORT_ALL": "1",
                "REQUEST_METHOD": self.command, "PATH_INFO": parts.path, "QUERY_STRING": parts.query,
                "CONTENT_TYPE": self.headers.get("content-type", ""), "CONTENT_LENGTH": str(len(body)),
                "HTTP_CONTENT_ENCODING": self.headers.get("content-encoding", ""), "REMOTE_ADDR": "127.0.0.1",
                "GIT_PROTOCOL": self.headers.get("git-protocol", ""), "GIT_CONFIG_NOSYSTEM": "1", "HOME": "/nonexistent",
                "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*",
            }  # fmt: skip
            done = subprocess.run(["git", "http-backend"], input=body, env=variables, capture_output=True, check=False)
            head, _, content = done.stdout.partition(b"\r\n\r\n")
            headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
            self.send_response(int(headers.pop("Status", "200").split()[0]))
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(_certificate(folder))
        server.socket = context.wrap_socket(server.socket, server_side=True)
    script.url = f"{'https' if tls else 'http'}://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield script
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def free_port() -> int:
    """Return a port of loopback at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def _certificate(folder: Path) -> Path:
    """Make an authority, ``ca.pem``, and a certificate by it for 127.0.0.1 with its key; return the latter's file."""
    key, own = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Site authority")])
    now = dt.datetime.now(dt.UTC)

    def builder(subject: x509.Name, public: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        made = x509.CertificateBuilder().subject_name(subject).issuer_name(name).public_key(public)
        made = made.serial_number(x509.random_serial_number()).not_valid_before(now - dt.timedelta(days=1))
        return made.not_valid_after(now + dt.timedelta(days=1))

    authority = builder(name, key.public_key()).add_extension(
        x509.BasicConstraints(ca=True, path_length=None), critical=True
    )
    (folder / "ca.pem").write_bytes(authority.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "git.site")])
    address = x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))])
    signed = builder(subject, own.public_key()).add_extension(address, critical=False).sign(key, hashes.SHA256())
    private = own.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "server.pem").write_bytes(signed.public_bytes(serialization.Encoding.PEM) + private)
    return folder / "server.pem"
