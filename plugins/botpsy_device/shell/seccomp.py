"""The kernel calls that a command in the sandbox can't make: a classic BPF program for `bwrap --seccomp`.

The sandbox already has its own users, processes, network and files. What is taken away here is what
could reach around that: other processes' memory, keyrings, mounts, new namespaces, kernel modules, and
sockets of kinds that no namespace holds.
"""

import errno
import platform
import struct
from dataclasses import dataclass

_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_BITS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
"""``BPF_LD|BPF_W|BPF_ABS``, ``BPF_JMP|BPF_JEQ|BPF_K``, ``…JGE…``, ``…JSET…``, ``BPF_RET|BPF_K``."""

_NUMBER, _ARCHITECTURE, _FIRST, _SECOND = 0, 4, 16, 24
"""Offsets in ``struct seccomp_data``: the lower halves of the arguments, on little-endian machines."""

_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000

_NEW_NAMESPACES = 0x7E020000
"""``CLONE_NEWNS``, ``NEWCGROUP``, ``NEWUTS``, ``NEWIPC``, ``NEWUSER``, ``NEWPID``, ``NEWNET``."""

_TERMINAL_INPUT = (0x5412, 0x541C)
"""``TIOCSTI`` and ``TIOCLINUX``, which type into a terminal."""

_SOCKETS = (2, 10, 16)
"""``AF_INET``, ``AF_INET6``, ``AF_NETLINK``, which a network namespace holds. No ``AF_UNIX``: agents,
D-Bus and X11 listen there, in opened folders or without any file. Socket pairs remain."""

_SAME_EVERYWHERE = (*range(425, 434), 438, 442)
"""io_uring, open_tree … fspick, pidfd_getfd, mount_setattr: one number on every architecture."""


@dataclass(frozen=True)
class _Architecture:
    audit: int
    """``AUDIT_ARCH_…`` of linux/audit.h."""
    denied: tuple[int, ...]
    clone: int
    socket: int
    ioctl: int
    foreign_from: int | None = None
    """Numbers from here on belong to another ABI (x32) of the same machine."""


# ptrace, keyctl, add_key, request_key, bpf, perf_event_open, userfaultfd, mount, umount2, pivot_root, chroot,
# unshare, setns, kexec_load, kexec_file_load, open_by_handle_at, name_to_handle_at, process_vm_readv,
# process_vm_writev, init_module, finit_module, delete_module, acct, swapon, swapoff, reboot, settimeofday,
# clock_settime, quotactl, syslog, kcmp, lookup_dcookie; on x86 also iopl and ioperm.
_ARCHITECTURES = {
    "x86_64": _Architecture(
        0xC000003E,
        (
            *(101, 250, 248, 249, 321, 298, 323, 165, 166, 155, 161, 272, 308, 246, 320, 304, 303, 310, 311),
            *(175, 313, 176, 163, 167, 168, 169, 164, 227, 179, 103, 312, 212, 172, 173),
        ),
        clone=56,
        socket=41,
        ioctl=16,
        foreign_from=0x40000000,
    ),
    "aarch64": _Architecture(
        0xC00000B7,
        (
            *(117, 219, 217, 218, 280, 241, 282, 40, 39, 41, 51, 97, 268, 104, 294, 265, 264, 270, 271),
            *(105, 273, 106, 89, 224, 225, 142, 170, 112, 60, 116, 272, 18),
        ),
        clone=220,
        socket=198,
        ioctl=29,
    ),
}
_CLONE3 = 435


def seccomp_program() -> bytes | None:
    """Return the filter for this machine, or None where its kernel calls are not known here."""
    machine = _ARCHITECTURES.get(platform.machine())
    if machine is None:
        return None
    program = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_JUMP_EQUAL, 1, 0, machine.audit),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    if machine.foreign_from is not None:
        program += [(_JUMP_AT_LEAST, 0, 1, machine.foreign_from), (_RETURN, 0, 0, _KILL)]
    for number in (*machine.denied, *_SAME_EVERYWHERE):
        program += [(_JUMP_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERROR | errno.EPERM)]
    # The flags of clone3 lie in memory, which no filter sees; libc falls back on clone where there is none.
    program += [(_JUMP_EQUAL, 0, 1, _CLONE3), (_RETURN, 0, 0, _ERROR | errno.ENOSYS)]
    program += _checked(machine.clone, _FIRST, [(_JUMP_BITS, 0, 1, _NEW_NAMESPACES)], errno.EPERM)
    program += _checked(
        machine.ioctl, _SECOND, [(_JUMP_EQUAL, 0, 1, request) for request in _TERMINAL_INPUT], errno.EPERM
    )
    program += [
        (_JUMP_EQUAL, 0, len(_SOCKETS) * 2 + 2, machine.socket),
        (_LOAD, 0, 0, _FIRST),
        *(step for kind in _SOCKETS for step in ((_JUMP_EQUAL, 0, 1, kind), (_RETURN, 0, 0, _ALLOW))),
        (_RETURN, 0, 0, _ERROR | errno.EAFNOSUPPORT),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return b"".join(struct.pack("=HBBI", *step) for step in program)


def _checked(
    number: int, argument: int, tests: list[tuple[int, int, int, int]], error: int
) -> list[tuple[int, int, int, int]]:
    """Return the steps that deny a call for what its argument is, and leave the number loaded else."""
    steps = [(_LOAD, 0, 0, argument)]
    for test in tests:
        steps += [test, (_RETURN, 0, 0, _ERROR | error)]
    steps.append((_LOAD, 0, 0, _NUMBER))
    return [(_JUMP_EQUAL, 0, len(steps), number), *steps]
