"""The fence around a command: what is tried from inside reaches nothing."""
# ruff: noqa: E501 - a script is easier to read in one line

import asyncio
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from botpsy_device.private import private_places
from botpsy_device.shell.running import Run, run
from botpsy_device.shell.sandbox import Fence, NoSandbox, Sandbox, find_sandbox, profile

from tests.device.world import SECRET, Machine, needs

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is for Linux")


def fence_of(machine: Machine, *, writes: bool = False, network: bool = False) -> Fence:
    private = private_places((machine.app, machine.home / ".config/botpsy"))
    return Fence(machine.documents, (machine.documents,), private, writes=writes, network=network)


async def the_sandbox() -> Sandbox:
    needs("bwrap")
    sandbox = await find_sandbox()
    if sandbox.kind == "none":
        message = "bubblewrap is installed, but may not make namespaces here"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return sandbox


async def attempt(fence: Fence, script: str, *, seconds: float = 20, sandbox: Sandbox | None = None) -> Run:
    """Run a script, of Python where it begins with `#py`, inside the fence."""
    argv = ["python3", "-c", script] if script.startswith("#py") else ["/bin/sh", "-c", script]
    return await run(
        argv,
        sandbox or await the_sandbox(),
        fence,
        seconds=seconds,
        progress=lambda _text: None,
        stopping=asyncio.Event(),
    )


SYSCALL = """#py
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])
    print("ESCAPED" if result >= 0 else "refused", result, ctypes.get_errno())
"""

X86 = os.uname().machine == "x86_64"

READING = {
    "a key in the home folder": "cat ~/.ssh/id_ed25519",
    "another key, by its absolute path": "cat $HOME/.gnupg/key",
    "the app's data": "cat $HOME/.local/share/botpsy/journal.sqlite",
    "the app's settings": "cat $HOME/.config/botpsy/settings.toml",
    "a folder that is not opened": "cat @OUTSIDE@/diary.txt",
    "upwards from the opened folder": "cat ../../outside/diary.txt ../.ssh/id_ed25519",
    "through a symlink to a file": "cat link-to-diary",
    "through a symlink to a folder": "cat link-to-outside/diary.txt; cat link-to-home/.ssh/id_ed25519",
    "through /proc/1/root": "cat /proc/1/root@OUTSIDE@/diary.txt",
    "through /proc/self/root": "cat /proc/self/root@OUTSIDE@/diary.txt",
    "through another's working folder": "cat /proc/1/cwd/@OUTSIDE@/diary.txt; cat /proc/*/cwd/diary.txt",
    "the environment": "env; cat /proc/self/environ /proc/1/environ",
    "open descriptors": "#py\nimport os\nfor fd in range(3, 256):\n try: print(os.pread(fd, 99, 0))\n except OSError: pass",
    "all of the file system": "grep -rs open-sesame / --include=diary.txt --include=id_ed25519 --include=journal.sqlite",
    "a bind of the host's root": "ls -d /oldroot/* /newroot/* && cat /oldroot@OUTSIDE@/diary.txt",
}

DOING = {
    "writing into the opened folder": "echo x > new.txt && echo ESCAPED",
    "changing a file of the opened folder": "echo x >> notes.txt && echo ESCAPED",
    "deleting in the opened folder": "rm -f notes.txt && echo ESCAPED",
    "writing to a folder that is not opened": "echo x > @OUTSIDE@/x && echo ESCAPED",
    "changing the system": "echo x > /usr/bin/evil && echo ESCAPED",
    "changing /etc": "echo x > /etc/evil && echo ESCAPED",
    "changing the root": "mkdir /evil && echo ESCAPED",
    "making the folder writable again": "mount -o remount,rw @DOCUMENTS@ && echo ESCAPED",
    "mounting": "mount -t tmpfs none /run && echo ESCAPED",
    "unmounting what hides the home": "umount $HOME && echo ESCAPED; umount -l /tmp && echo ESCAPED",
    "new users": "unshare -r true && echo ESCAPED",
    "new mounts": "unshare -m true && echo ESCAPED",
    "entering another's namespaces": "nsenter -t 1 -a true && echo ESCAPED",
    "chroot": "chroot / true && echo ESCAPED",
    "a device of its own": "mknod /tmp/disk b 8 0 && echo ESCAPED",
    "the disks": "ls /dev/sd* /dev/vd* /dev/nvme* /dev/mem /dev/kmsg && echo ESCAPED",
    "the kernel's log": "dmesg && echo ESCAPED",
    "the kernel's settings": "cd /proc/sys/kernel && cat panic > /tmp/same && cat /tmp/same > panic && echo ESCAPED",
    "the key that resets the machine": "echo b > /proc/sysrq-trigger && echo ESCAPED",
    "what a crash starts": "cat /proc/sys/kernel/core_pattern > /tmp/same && cat /tmp/same > /proc/sys/kernel/core_pattern && echo ESCAPED",
    "control groups": "ls /sys/fs/cgroup && echo ESCAPED",
    "the host's name": "hostname evil && echo ESCAPED",
    "the clock": "date -s 2001-01-01 && echo ESCAPED",
    "kernel modules": "modprobe dummy && echo ESCAPED",
    "seeing the host's processes": "test $(ls -d /proc/[0-9]* | wc -l) -gt 20 && echo ESCAPED; ls /proc/@PID@ && echo ESCAPED",
    "ending a process of the host": "kill -9 @PID@ && echo ESCAPED",
    "the services of the machine": "ls /run/docker.sock /run/dbus /run/user /run/systemd && echo ESCAPED",
    "capabilities": "grep -E 'Cap(Eff|Prm|Bnd|Inh|Amb):.*[1-9a-f]' /proc/self/status && echo ESCAPED",
    "new rights from a setuid program": "grep -q 'NoNewPrivs:.0' /proc/self/status && echo ESCAPED",
    "a listening port of the machine": "#py\nimport socket\nsocket.create_connection(('127.0.0.1', @PORT@), 3)\nprint('ESCAPED')",
    "the network": "#py\nimport socket\ns=socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.sendto(b'x',('192.0.2.1',53))\nprint('ESCAPED')",
    "raw packets": "#py\nimport socket\nsocket.socket(socket.AF_PACKET, socket.SOCK_RAW)\nprint('ESCAPED')",
    "virtual machines' sockets": "#py\nimport socket\nsocket.socket(40, socket.SOCK_STREAM)\nprint('ESCAPED')",
    "an agent's socket without a file": "#py\nimport socket\ns=socket.socket(socket.AF_UNIX)\ns.connect('\\0botpsy-test-@PORT@')\nprint('ESCAPED')",
    "an agent's socket in the opened folder": "#py\nimport socket\ns=socket.socket(socket.AF_UNIX)\ns.connect('agent.sock')\nprint('ESCAPED')",
    "typing into the terminal": "#py\nimport fcntl\nfcntl.ioctl(1, 0x5412, b'x')\nprint('ESCAPED')",
    "a terminal": "exec < /dev/tty && echo ESCAPED",
}

CALLING = {
    "ptrace": (101, 0, 0, 0, 0),
    "another process's memory": (310, 1, 0, 0, 0, 0, 0),
    "the keyring": (250, 0, -3, 1),
    "adding a key": (248, 0, 0, 0, 0, -3),
    "bpf": (321, 0, 0, 0),
    "perf": (298, 0, 0, -1, -1, 0),
    "userfaultfd": (323, 1),
    "io_uring": (425, 1, 0),
    "files by their handle": (304, -100, 0, 0),
    "unshare": (272, 0x10000000),
    "setns": (308, 0, 0),
    "clone with new users": (56, 0x10000011, 0, 0, 0, 0),
    "clone3": (435, 0, 0),
    "kexec": (246, 0, 0, 0, 0),
    "new mounts by descriptor": (430, 0, 0),
    "pidfd_getfd": (438, 0, 0, 0),
}


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine(tmp_path, monkeypatch)
    (machine.documents / "link-to-diary").symlink_to(machine.outside / "diary.txt")
    (machine.documents / "link-to-outside").symlink_to(machine.outside)
    (machine.documents / "link-to-home").symlink_to(machine.home)
    monkeypatch.setenv("BOTPSY_TEST_KEY", SECRET)
    monkeypatch.setenv("SSH_AUTH_SOCK", f"/tmp/{SECRET}")
    return machine


@contextmanager
def neighbours(machine: Machine) -> Iterator[dict[str, str]]:
    """A process, a port and two Unix sockets of the host, and a secret file that is open."""
    sleeper = subprocess.Popen(["sleep", "300"])
    port, path, abstract = socket.socket(), socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    port.bind(("127.0.0.1", 0))
    number = port.getsockname()[1]
    here = Path.cwd()
    os.chdir(machine.documents)  # a socket's path may not be long
    path.bind("agent.sock")
    os.chdir(here)
    abstract.bind(f"\0botpsy-test-{number}")
    for one in (port, path, abstract):
        one.listen()
    secret = os.open(machine.outside / "diary.txt", os.O_RDONLY)
    os.set_inheritable(secret, True)
    try:
        yield {
            "@OUTSIDE@": str(machine.outside),
            "@DOCUMENTS@": str(machine.documents),
            "@PID@": str(sleeper.pid),
            "@PORT@": str(number),
        }
        assert sleeper.poll() is None
    finally:
        sleeper.kill()
        sleeper.wait()
        os.close(secret)
        for one in (port, path, abstract):
            one.close()


def filled_in(script: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        script = script.replace(name, value)
    return script


@pytest.mark.parametrize("name", READING)
async def test_no_secret_is_read(machine: Machine, name: str) -> None:
    with neighbours(machine) as values:
        done = await attempt(fence_of(machine), filled_in(READING[name], values))
    assert SECRET not in done.beginning + done.rest
    assert not done.left_out


@pytest.mark.parametrize("name", DOING)
@pytest.mark.parametrize("network", [False, True])
async def test_nothing_is_done_outside(machine: Machine, name: str, network: bool) -> None:
    if network and name in ("a listening port of the machine", "the network"):
        pytest.skip("that is what the person has allowed")
    before = machine.contents()
    with neighbours(machine) as values:
        done = await attempt(fence_of(machine, network=network), filled_in(DOING[name], values))
        (machine.documents / "agent.sock").unlink()
    assert "ESCAPED" not in done.beginning
    assert machine.contents() == before


@pytest.mark.skipif(not X86, reason="the numbers are those of x86_64")
@pytest.mark.parametrize("name", CALLING)
async def test_the_kernel_is_not_asked(machine: Machine, name: str) -> None:
    done = await attempt(fence_of(machine), f"{SYSCALL}call{CALLING[name]}")
    assert done.beginning.startswith("refused"), done.beginning
    errno = int(done.beginning.split()[-1])
    assert errno == (38 if name == "clone3" else 1), "the filter says no, not the arguments"


async def test_without_a_fence_the_same_attempts_succeed(machine: Machine) -> None:
    with neighbours(machine) as values:
        for name in (
            "a key in the home folder",
            "the app's data",
            "a folder that is not opened",
            "through a symlink to a file",
            "upwards from the opened folder",
        ):
            done = await attempt(fence_of(machine), filled_in(READING[name], values), sandbox=NoSandbox())
            assert SECRET in done.beginning, name
        for name in (
            "writing into the opened folder",
            "writing to a folder that is not opened",
            "a listening port of the machine",
            "an agent's socket without a file",
            "an agent's socket in the opened folder",
        ):
            done = await attempt(fence_of(machine), filled_in(DOING[name], values), sandbox=NoSandbox())
            assert "ESCAPED" in done.beginning, name


async def test_even_without_a_fence_the_environment_is_clean(machine: Machine) -> None:
    done = await attempt(fence_of(machine), "env", sandbox=NoSandbox())
    assert "HOME=" in done.beginning
    assert SECRET not in done.beginning


async def test_the_folder_can_be_written_where_the_person_says_so(machine: Machine) -> None:
    done = await attempt(fence_of(machine, writes=True), "echo new > new.txt && cat new.txt")
    assert (done.status, done.beginning) == (0, "new\n")
    assert (machine.documents / "new.txt").read_text() == "new\n"


@pytest.mark.parametrize(
    "script",
    [
        "echo x > link-to-diary; cp notes.txt link-to-outside/; echo x > link-to-home/x",
        "ln -s @OUTSIDE@ again; echo x > again/x; ln @OUTSIDE@/diary.txt hard",
        "rm link-to-outside; mv notes.txt ../moved.txt; echo x > ../x",
        "ln -sfn @OUTSIDE@ swap & ln -sfn . swap & sleep 0.2; echo x > swap/raced; rm -f swap raced",
        "echo evil > .git/hooks/post-checkout; mv .git/hooks .git/old; rm -rf .git/hooks; echo x > .git/config",
        "rm -rf .git; mkdir -p .git/hooks && echo evil > .git/hooks/post-checkout",
        "mkdir -p ~/.config/autostart && echo x > ~/.config/autostart/evil.desktop; echo evil >> ~/.bashrc",
    ],
)
async def test_a_writable_folder_leads_nowhere_else(machine: Machine, script: str) -> None:
    hooks = machine.documents / ".git/hooks"
    hooks.mkdir(parents=True)
    (hooks.parent / "config").write_text("[core]\n")
    before = {name: text for name, text in machine.contents().items() if "Documents" not in name}
    await attempt(fence_of(machine, writes=True), script.replace("@OUTSIDE@", str(machine.outside)))
    after = {name: text for name, text in machine.contents().items() if "Documents" not in name}
    assert after == before
    assert list(hooks.iterdir()) == []
    assert (hooks.parent / "config").read_text() == "[core]\n"


async def test_what_is_private_is_hidden_inside_of_an_opened_folder(machine: Machine) -> None:
    fence = Fence(machine.home, (machine.home,), private_places((machine.app,)))
    done = await attempt(
        fence, f"cat .ssh/id_ed25519 .gnupg/key {machine.app}/*; ls -a .ssh; cat Documents/notes.txt"
    )
    assert SECRET not in done.beginning
    assert "some notes" in done.beginning


def alive(mark: str) -> list[int]:
    found = []
    for process in psutil.process_iter(["cmdline"]):
        if mark in " ".join(process.info["cmdline"] or []):
            found.append(process.pid)
    return found


async def begun(mark: str) -> None:
    """Wait until the program itself runs, not only what starts it."""
    deadline = asyncio.get_running_loop().time() + 10
    while not [pid for pid in alive(f"sleep {mark}") if psutil.Process(pid).name() == "sleep"]:
        assert asyncio.get_running_loop().time() < deadline, "it did not start"
        await asyncio.sleep(0.02)


async def gone(mark: str) -> None:
    """Wait until the kernel has ended the last of them."""
    deadline = asyncio.get_running_loop().time() + 5
    while alive(f"sleep {mark}"):
        assert asyncio.get_running_loop().time() < deadline, "something was left running"
        await asyncio.sleep(0.02)


LEAVING = {
    "a background job": "sleep {mark} &",
    "a session of its own": "setsid sleep {mark} &",
    "without hang-ups": "nohup sleep {mark} > /dev/null 2>&1 &",
    "forked twice": "#py\nimport os, time\nif os.fork() == 0:\n os.setsid()\n if os.fork() == 0:\n  os.execlp('sleep', 'sleep', '{mark}')\n os._exit(0)\ntime.sleep(0.1)",
}


@pytest.mark.parametrize("name", LEAVING)
async def test_nothing_is_left_running(machine: Machine, name: str) -> None:
    mark = f"31{os.getpid()}{len(name)}"
    done = await attempt(fence_of(machine), LEAVING[name].format(mark=mark))
    assert done.end == "exited"
    assert done.seconds < 10
    await gone(mark)


@pytest.mark.parametrize("fenced", [True, False])
async def test_the_time_limit_ends_everything(machine: Machine, fenced: bool) -> None:
    mark = f"32{os.getpid()}"
    sandbox = await the_sandbox() if fenced else NoSandbox()
    script = f"trap '' TERM INT; echo begun; setsid sleep {mark} & sleep {mark}"
    done = await attempt(fence_of(machine), script, seconds=1, sandbox=sandbox)
    assert (done.end, done.beginning) == ("time", "begun\n")
    assert done.status > 128
    await gone(mark)


async def test_the_person_can_stop_it(machine: Machine) -> None:
    stopping = asyncio.Event()
    sandbox = await the_sandbox()
    argv = ["/bin/sh", "-c", "echo begun; sleep 60"]
    done = await run(
        argv,
        sandbox,
        fence_of(machine),
        seconds=60,
        progress=lambda _text: stopping.set(),
        stopping=stopping,
    )
    assert (done.end, done.beginning) == ("stopped", "begun\n")
    assert done.seconds < 20


async def test_a_turn_that_is_cancelled_leaves_nothing_running(machine: Machine) -> None:
    mark = f"33{os.getpid()}"
    begun = asyncio.Event()
    task = asyncio.ensure_future(
        run(
            ["/bin/sh", "-c", f"echo begun; sleep {mark}; true"],
            await the_sandbox(),
            fence_of(machine),
            seconds=60,
            progress=lambda _text: begun.set(),
            stopping=asyncio.Event(),
        )
    )
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await gone(mark)


async def test_it_dies_with_the_app(machine: Machine) -> None:
    mark = f"34{os.getpid()}"
    sandbox = await the_sandbox()
    argv = sandbox.argv(fence_of(machine), ["sleep", mark], Path(tempfile.gettempdir()), None)
    app = "import subprocess, sys, time; subprocess.Popen(sys.argv[1:]); time.sleep(60)"
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", app, *argv)
    await begun(mark)
    parent.kill()
    await parent.wait()
    await gone(mark)


async def test_output_without_end_is_ended_and_kept_from_both_ends(machine: Machine) -> None:
    done = await attempt(fence_of(machine), "echo first; yes 'again and again'")
    assert done.end == "output"
    assert done.beginning.startswith("first\nagain")
    assert done.left_out > 1_000_000
    assert len(done.beginning) + len(done.rest) <= 32_000


async def test_a_flood_of_memory_is_refused(machine: Machine) -> None:
    done = await attempt(fence_of(machine), "#py\nx = bytearray(6 * 2**30)\nprint('ESCAPED')")
    assert "MemoryError" in done.beginning


async def test_the_room_in_memory_is_bounded(machine: Machine) -> None:
    done = await attempt(fence_of(machine), "head -c 400000000 /dev/zero > /tmp/big && echo ESCAPED")
    assert "No space left" in done.beginning


FORKS = "#py\nimport os, sys, time\nn = 0\ntry:\n while n < 2000:\n  if os.fork() == 0: time.sleep(60)\n  n += 1\nexcept OSError: pass\nprint(n)"


async def test_a_fork_bomb_is_bounded_and_gone_with_its_fence(machine: Machine) -> None:
    before = len(psutil.pids())
    done = await attempt(fence_of(machine), FORKS, seconds=20)
    if os.getuid() != 0:  # the kernel counts no processes of root
        assert int(done.beginning) < 260
    deadline = asyncio.get_running_loop().time() + 20
    while len(psutil.pids()) > before + 50:
        assert asyncio.get_running_loop().time() < deadline
        await asyncio.sleep(0.1)


async def test_bytes_that_are_no_text_do_no_harm(machine: Machine) -> None:
    done = await attempt(fence_of(machine), "printf 'a\\377\\033[2Jb\\303'; sleep 0.05; printf '\\251'")
    assert done.beginning == "a\ufffd\x1b[2Jbé"


async def test_a_program_that_is_not_there_is_said_by_the_shell(machine: Machine) -> None:
    done = await attempt(fence_of(machine), "no-such-program-at-all")
    assert done.status == 127


async def test_many_at_once_do_not_mix(machine: Machine) -> None:
    runs = await asyncio.gather(*(attempt(fence_of(machine), f"echo {n}") for n in range(8)))
    assert [one.beginning for one in runs] == [f"{n}\n" for n in range(8)]


def test_the_profile_of_macos_denies_first_and_hides_last(tmp_path: Path) -> None:
    fence = Fence(tmp_path / 'a"b', (tmp_path / 'a"b',), (tmp_path / "private",), writes=True)
    text = profile(fence, tmp_path / "temporary").splitlines()
    assert text[:2] == ["(version 1)", "(deny default)"]
    assert text[-1] == f'(deny file-read* file-write* (subpath "{tmp_path}/private"))'
    assert any('a\\"b' in line and "file-write*" in line for line in text)
    assert not any("network" in line for line in text)
    assert any(
        "network-outbound" in line for line in profile(Fence(None, network=True), tmp_path).splitlines()
    )


async def test_a_bubblewrap_that_cannot_make_namespaces_is_no_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert (await find_sandbox()).kind == "none"


def test_threads_do_not_matter_to_starting(machine: Machine) -> None:
    stop = threading.Event()
    spinning = [threading.Thread(target=stop.wait) for _ in range(4)]
    for thread in spinning:
        thread.start()
    try:
        assert asyncio.run(attempt(fence_of(machine), "echo fine")).beginning == "fine\n"
    finally:
        stop.set()
        for thread in spinning:
            thread.join()
