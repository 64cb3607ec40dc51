"""A real Dovecot on loopback, and a reader of its Maildirs that shares no code with ours.

It runs as root does where the tests run as root, else as the person who runs them.
"""

import getpass
import grp
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.servers.certificates import make_certificate
from tests.servers.ports import free_port

USER, PASSWORD = "nia@example.org", "correct-horse"

_CONFIG = """
base_dir = {folder}/run
state_dir = {folder}/state
log_path = {folder}/log
protocols = imap
listen = 127.0.0.1
ssl = yes
ssl_cert = <{folder}/cert.pem
ssl_key = <{folder}/key.pem
disable_plaintext_auth = yes
mail_location = maildir:{folder}/mail/%u
mail_fsync = never
mail_save_crlf = yes
first_valid_uid = 0
first_valid_gid = 0
default_internal_user = {internal}
default_login_user = {login}
default_internal_group = {group}
imap_capability = {capability}
service anvil {{
  chroot =
}}
service imap-login {{
  chroot =
  inet_listener imap {{
    port = {port}
  }}
  inet_listener imaps {{
    port = {tls_port}
    ssl = yes
  }}
}}
passdb {{
  driver = static
  args = password={password}
}}
userdb {{
  driver = static
  args = uid={uid} gid={gid} home={folder}/mail/%u
}}
namespace inbox {{
  inbox = yes
  {folders}
}}
"""
_FOLDERS = """
  mailbox Drafts {{
    auto = create
    {drafts}
  }}
  mailbox Sent {{
    auto = create
    {sent}
  }}
  mailbox Trash {{
    auto = create
    {trash}
  }}
"""


class DovecotServer:
    """One server; its mail in a folder of the test's."""

    username, password = USER, PASSWORD

    def __init__(self, folder: Path, *, special_use: bool = True, capability: str = "") -> None:
        self.folder = folder
        self.port, self.tls_port = free_port(), free_port()
        self.imaps, self.imap = f"imaps://127.0.0.1:{self.tls_port}", f"imap://127.0.0.1:{self.port}"
        self._special_use, self._capability = special_use, capability
        self._process: subprocess.Popen[bytes] | None = None
        self.fingerprint = ""

    @property
    def maildir(self) -> Path:
        return self.folder / "mail" / USER

    def settings(self, **more: str) -> dict[str, str]:
        """What an account here has for settings."""
        return {"email": USER, "imap": self.imaps, "imap_fingerprint": self.fingerprint, **more}

    def start(self) -> None:
        for name in ("run", "state", "mail"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        if not self.fingerprint:
            self.fingerprint = make_certificate(self.folder)
        config = self.folder / "dovecot.conf"
        config.write_text(self._config())
        with (self.folder / "out").open("ab") as out:
            self._process = subprocess.Popen(["dovecot", "-F", "-c", str(config)], stdout=out, stderr=out)
        self._wait()

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None

    def deliver(self, name: str, raw: bytes, *, folder: str = "", flags: str | None = None) -> None:
        """Put a message into a folder as a delivery agent does: unseen in ``new``, else with flags."""
        place = self.maildir / (f".{folder}" if folder else "")
        for part in ("cur", "new", "tmp"):
            (place / part).mkdir(parents=True, exist_ok=True)
        target = place / ("new" if flags is None else "cur")
        (target / (name if flags is None else f"{name}:2,{flags}")).write_bytes(raw)
        self._give_away()

    def messages(self, folder: str = "") -> dict[bytes, str]:
        """Every message's bytes with its flags, read from the files alone."""
        place = self.maildir / (f".{folder}" if folder else "")
        return {
            path.read_bytes(): path.name.partition(":2,")[2]
            for part in ("new", "cur")
            for path in sorted((place / part).glob("*"))
        }

    def empty(self) -> None:
        """Take all mail away, and all that the server knows of it."""
        shutil.rmtree(self.maildir, ignore_errors=True)
        self.maildir.mkdir(parents=True)
        self._give_away()

    def _give_away(self) -> None:
        if os.geteuid() == 0:
            subprocess.run(["chown", "-R", "nobody:nogroup", str(self.folder / "mail")], check=True)

    def _config(self) -> str:
        root = os.geteuid() == 0
        me, mine = getpass.getuser(), grp.getgrgid(os.getgid()).gr_name
        nobody = pwd.getpwnam("nobody")
        marks = {"drafts": "\\Drafts", "sent": "\\Sent", "trash": "\\Trash"}
        uses = {name: f"special_use = {mark}" if self._special_use else "" for name, mark in marks.items()}
        return _CONFIG.format(
            folder=self.folder,
            port=self.port,
            tls_port=self.tls_port,
            password=PASSWORD,
            internal="dovecot" if root else me,
            login="dovenull" if root else me,
            group="dovecot" if root else mine,
            uid=nobody.pw_uid if root else os.getuid(),
            gid=nobody.pw_gid if root else os.getgid(),
            capability=self._capability,
            folders=_FOLDERS.format(**uses),
        )

    def _wait(self) -> None:
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", self.tls_port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.05)
        log = self.folder / "log"
        raise RuntimeError(f"Dovecot did not start: {log.read_text() if log.exists() else 'no log'}")


@contextmanager
def start_dovecot(*, special_use: bool = True, capability: str = "") -> Iterator[DovecotServer]:
    """Run one. Where it isn't installed the test is skipped; in CI it fails.

    Its folder is not pytest's, which nobody but the owner may enter: it gives up root's rights.
    """
    if shutil.which("dovecot") is None:
        if os.environ.get("CI"):
            raise RuntimeError("Dovecot is needed: apt-get install dovecot-imapd")
        pytest.skip("Dovecot is not installed (on Debian: apt-get install dovecot-imapd).")
    folder = Path(tempfile.mkdtemp(prefix="botpsy-dovecot-"))
    folder.chmod(0o755)
    server = DovecotServer(folder, special_use=special_use, capability=capability)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
