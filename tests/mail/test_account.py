"""Adding a mail account: the servers found from the address, the log-in tried, the connection encrypted."""

import os
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

import pytest
from botpsy_mail.account import MailAccount, MaildirAccount
from botpsy_mail.discovery import Found, candidates, read_autoconfig

from botpsy_tui.plugin import AccountProblem
from tests.servers.certificates import make_certificate
from tests.servers.dovecot import DovecotServer, start_dovecot

AUTOCONFIG = b"""<?xml version="1.0"?><clientConfig version="1.1"><emailProvider id="example.org">
<incomingServer type="pop3"><hostname>pop.example.org</hostname><port>995</port>
<socketType>SSL</socketType></incomingServer>
<incomingServer type="imap"><hostname>plain.example.org</hostname><port>143</port>
<socketType>plain</socketType></incomingServer>
<incomingServer type="imap"><hostname>mx.%EMAILDOMAIN%</hostname><port>993</port>
<socketType>SSL</socketType><username>%EMAILLOCALPART%</username></incomingServer>
<outgoingServer type="smtp"><hostname>out.example.org</hostname><port>587</port>
<socketType>STARTTLS</socketType></outgoingServer></emailProvider></clientConfig>"""


@pytest.fixture(scope="module")
def server() -> Iterator[DovecotServer]:
    with start_dovecot() as server:
        yield server


async def connect(settings: dict[str, str], secret: str) -> tuple[dict[str, str], str]:
    return await MailAccount().connect(settings, secret)


@pytest.mark.parametrize("scheme", ["imaps", "imap"])
async def test_an_account_is_connected_and_its_folders_are_named(server: DovecotServer, scheme: str) -> None:
    url = server.imaps if scheme == "imaps" else server.imap
    settings, sentence = await connect(server.settings(imap=url), server.password)
    assert "4 folders found: INBOX, Drafts, Sent, Trash." in sentence
    assert settings["username"] == "nia@example.org"
    assert server.password not in str(settings)


async def test_a_wrong_password_is_said_to_be_wrong(server: DovecotServer) -> None:
    with pytest.raises(AccountProblem, match="user name or password") as caught:
        await connect(server.settings(), "open-sesame")
    assert "open-sesame" not in str(caught.value)


async def test_a_self_signed_certificate_is_refused_and_its_fingerprint_shown(server: DovecotServer) -> None:
    with pytest.raises(AccountProblem, match="can't be trusted") as caught:
        await connect(server.settings(imap_fingerprint=""), server.password)
    assert server.fingerprint in str(caught.value)


async def test_another_certificate_than_the_trusted_one_is_refused(server: DovecotServer) -> None:
    with pytest.raises(AccountProblem, match="another than the one you trust"):
        await connect(server.settings(imap_fingerprint="ab" * 32), server.password)


async def test_a_server_that_is_not_there_is_said_not_to_be() -> None:
    with pytest.raises(AccountProblem, match="refuses connections"):
        await connect({"email": "nia@example.org", "imap": "imaps://127.0.0.1:9"}, "x")


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"email": "nobody"}, "no mail address"),
        ({"email": "a@b.example", "imap": "http://b.example"}, "no address of a mail server"),
        ({"email": "a@b.example", "imap": "imaps://b.example/inbox"}, "no address of a mail server"),
        ({"email": "a@b.example", "imap": "imaps://b.example", "imap_fingerprint": "abc"}, "64 hexadecimal"),
    ],
)
async def test_settings_that_are_of_no_use_are_said_to_be_wrong(settings: dict[str, str], says: str) -> None:
    with pytest.raises(AccountProblem, match=says):
        await connect(settings, "x")


@contextmanager
def greeting(answer: Callable[[socket.socket, list[bytes]], None]) -> Iterator[tuple[int, list[bytes]]]:
    """Run a server of one connection; give its port and every line that it was sent."""
    listener = socket.create_server(("127.0.0.1", 0))
    heard: list[bytes] = []

    def serve() -> None:
        with listener.accept()[0] as peer:
            peer.settimeout(10)
            with suppress(OSError):
                answer(peer, heard)

    thread = Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1], heard
    finally:
        listener.close()
        thread.join(10)


def without_starttls(peer: socket.socket, heard: list[bytes]) -> None:
    peer.sendall(b"* OK [CAPABILITY IMAP4rev1 AUTH=PLAIN] hello\r\n")
    for line in peer.makefile("rb"):
        heard.append(line)
        tag = line.split()[0]
        peer.sendall(b"* CAPABILITY IMAP4rev1 AUTH=PLAIN\r\n" + tag + b" OK done\r\n")


def already_logged_in(peer: socket.socket, heard: list[bytes]) -> None:
    peer.sendall(b"* PREAUTH [CAPABILITY IMAP4rev1 STARTTLS] hello\r\n")
    for line in peer.makefile("rb"):
        heard.append(line)
        tag = line.split()[0]
        peer.sendall(b"* CAPABILITY IMAP4rev1 STARTTLS\r\n" + tag + b" OK done\r\n")


@pytest.mark.parametrize("attacker", [without_starttls, already_logged_in])
async def test_where_starttls_is_stripped_the_password_is_not_sent(
    attacker: Callable[[socket.socket, list[bytes]], None],
) -> None:
    with greeting(attacker) as (port, heard):
        settings = {"email": "nia@example.org", "imap": f"imap://127.0.0.1:{port}"}
        with pytest.raises(AccountProblem, match="STARTTLS"):
            await connect(settings, "open-sesame")
    assert not any(b"LOGIN" in line or b"AUTHENTICATE" in line or b"sesame" in line for line in heard)


async def test_words_slipped_in_before_encryption_are_not_taken_for_the_servers(tmp_path: Path) -> None:
    make_certificate(tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    heard_encrypted: list[bytes] = []

    def answer(peer: socket.socket, heard: list[bytes]) -> None:
        peer.sendall(b"* OK [CAPABILITY IMAP4rev1 STARTTLS] hello\r\n")
        lines = peer.makefile("rb")
        for line in lines:
            heard.append(line)
            tag = line.split()[0]
            if b"STARTTLS" in line:
                # Everything up to the log-in is "answered" in the clear, ahead of time.
                peer.sendall(tag + b" OK begin\r\n* CAPABILITY IMAP4rev1 AUTH=PLAIN\r\n")
                with context.wrap_socket(peer, server_side=True) as encrypted:
                    heard_encrypted.append(encrypted.recv(1000))
                return
            peer.sendall(b"* CAPABILITY IMAP4rev1 STARTTLS\r\n" + tag + b" OK done\r\n")

    with greeting(answer) as (port, heard):
        settings = {"email": "nia@example.org", "imap": f"imap://127.0.0.1:{port}"}
        with pytest.raises(AccountProblem):
            await connect(settings, "open-sesame")
    assert b"sesame" not in b"".join([*heard, *heard_encrypted])


def test_a_providers_autoconfig_names_its_encrypted_servers_only() -> None:
    assert read_autoconfig(AUTOCONFIG, "nia@example.org") == Found(
        "imaps://mx.example.org:993", "smtp://out.example.org:587", "nia"
    )


@pytest.mark.parametrize(
    "page",
    [b"", b"<html>", b"<!DOCTYPE x [<!ENTITY a 'b'>]><clientConfig>&a;</clientConfig>", b"<a/>", b"\xff\xfe"],
)
def test_a_page_that_is_no_autoconfig_names_nothing(page: bytes) -> None:
    assert read_autoconfig(page, "nia@example.org") is None


def test_servers_are_looked_for_at_the_provider_then_in_its_records_then_by_name() -> None:
    def records(name: str) -> list[tuple[str, int]]:
        return [("mx.example.org", 993)] if name == "_imaps._tcp.example.org" else []

    asked: list[str] = []
    found = list(candidates("nia@example.org", lambda url: asked.append(url), records))
    assert [one.imap for one in found] == [
        "imaps://mx.example.org:993",
        "imaps://imap.example.org",
        "imaps://mail.example.org",
    ]
    assert all(url.startswith("https://") for url in asked)
    first = next(candidates("nia@example.org", lambda _url: AUTOCONFIG, records))
    assert first.username == "nia"


async def test_a_maildir_of_another_program_is_an_account_without_a_password(tmp_path: Path) -> None:
    for part in ("cur", "new", "tmp"):
        (tmp_path / "INBOX" / part).mkdir(parents=True)
    settings, sentence = await MaildirAccount().connect({"folder": str(tmp_path)}, None)
    assert sentence == "1 folder found: INBOX."
    assert settings["folder"] == str(tmp_path)


async def test_a_folder_without_mail_is_no_account_and_stays_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(AccountProblem, match="no Maildir"):
        await MaildirAccount().connect({"folder": str(tmp_path)}, None)
    assert not os.listdir(tmp_path)  # noqa: PTH208 - a path's own iterdir may not be used here


def botpsy(home: Path, *arguments: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "botpsy_tui", *arguments],
        input=typed, capture_output=True, text=True, check=False, timeout=120,
        env={"BOTPSY_HOME": str(home), "PATH": "/usr/bin:/bin", "MAIL_PASSWORD": "correct-horse"},
    )  # fmt: skip


def test_the_command_adds_lists_and_removes_a_mail_account(tmp_path: Path, server: DovecotServer) -> None:
    added = botpsy(
        tmp_path, "account", "add", "mail", "nia@example.org", "--password-env", "MAIL_PASSWORD",
        "--set", f"imap={server.imaps}", "--set", f"imap_fingerprint={server.fingerprint}",
    )  # fmt: skip
    assert added.returncode == 0, added.stderr
    assert added.stdout.startswith("example.org: 4 folders found")
    listed = botpsy(tmp_path, "account", "list").stdout
    assert listed == f"example.org\tmail\tnia@example.org\t{server.imaps}\n"
    assert server.password not in (tmp_path / "config" / "settings.toml").read_text()
    assert botpsy(tmp_path, "account", "remove", "example.org").returncode == 0


def test_the_command_takes_no_password_among_the_settings(tmp_path: Path) -> None:
    done = botpsy(tmp_path, "account", "add", "mail", "a@b.example", "--set", "password=x", typed="x\n")
    assert done.returncode == 2
    assert "never kept in the settings" in done.stderr
