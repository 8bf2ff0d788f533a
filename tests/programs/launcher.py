"""The process between a test and a program: it makes the program's network, and outlives the program.

Run by `sandbox.py`, never imported by a test; standard library only, since it runs without site packages.

    launcher.py open CONTROL PORT user|net     make a network that has loopback and nothing else; pass a
                                               listening socket in it, and the namespaces, over CONTROL
    launcher.py run CONTROL SECONDS FDS ARGV…  enter the namespaces FDS ("4,5", or "-"), run ARGV, and leave
                                               nothing of it alive: at its end, after SECONDS, or when asked

CONTROL is the number of an inherited Unix socket. `run` says over it {"pid"} and then {"exit", "timed_out",
"strays"}, each on a line, and obeys lines "signal N" (to the program alone) and "stop". When the other end
closes, the test is gone: that counts as "stop".
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
SIOCGIFFLAGS = 0x8913
SIOCSIFFLAGS = 0x8914
IFF_UP = 0x1
LOOK_EVERY_S = 0.02
SWEEP_WITHIN_S = 10.0


def main(arguments: list[str]) -> None:
    """Do what the first argument says."""
    with socket.socket(fileno=int(arguments[1])) as control:
        os.set_inheritable(control.fileno(), False)
        if arguments[0] == "open":
            open_network(control, int(arguments[2]), with_user=arguments[3] == "user")
        else:
            enter([] if arguments[3] == "-" else [int(fd) for fd in arguments[3].split(",")])
            supervise(control, float(arguments[2]), arguments[4:])


def open_network(control: socket.socket, port: int, *, with_user: bool) -> None:
    """Make the namespaces, listen in them, and pass all that to the test; while it holds them, they live."""
    user, group = os.getuid(), os.getgid()
    _call("unshare", CLONE_NEWNET | (CLONE_NEWUSER if with_user else 0))
    if with_user:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    bring_loopback_up()
    kinds = ["user", "net"] if with_user else ["net"]
    namespaces = [os.open(f"/proc/self/ns/{kind}", os.O_RDONLY) for kind in kinds]
    with socket.create_server(("127.0.0.1", port), backlog=64) as listener:
        socket.send_fds(control, [b"open"], [listener.fileno(), *namespaces])


def bring_loopback_up() -> None:
    """Set the "up" flag of `lo`; the kernel then gives it 127.0.0.1 by itself."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        answer = fcntl.ioctl(any_socket, SIOCGIFFLAGS, struct.pack("16sH22x", b"lo", 0))
        flags: int = struct.unpack("16sH22x", answer)[1]
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH22x", b"lo", flags | IFF_UP))


def enter(namespaces: list[int]) -> None:
    """Join the namespaces, the user's first: it gives the right to join the network's."""
    for fd in namespaces:
        _call("setns", fd, 0)
        os.close(fd)


def supervise(control: socket.socket, seconds: float, argv: list[str]) -> None:
    """Run the program to its end, or to ours."""
    _adopt_orphans()
    try:
        child = subprocess.Popen(argv, start_new_session=True, preexec_fn=_die_with_parent).pid
    except OSError as error:
        _tell(control, {"error": str(error)})
        return
    strays: list[str] = []
    try:
        _tell(control, {"pid": child})
        code, timed_out = watch(control, child, time.monotonic() + seconds)
    finally:
        strays = sweep(child)
    _tell(control, {"exit": code, "timed_out": timed_out, "strays": strays})


def watch(control: socket.socket, child: int, deadline: float) -> tuple[int, bool]:
    """The program's exit code, and whether it was ended because its time was up."""
    while _obey(control, child) and time.monotonic() < deadline:
        code = _reap(child)
        if code is not None:
            return code, False
    timed_out = time.monotonic() >= deadline
    os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), timed_out


def sweep(group: int) -> list[str]:
    """Kill what the program left behind, also what put itself into the background; say what that was."""
    strays: dict[int, str] = {}
    deadline = time.monotonic() + SWEEP_WITHIN_S
    while time.monotonic() < deadline:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
        for pid in _children():
            strays.setdefault(pid, _command_line(pid))
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            break
        time.sleep(LOOK_EVERY_S)
    return [name for name in strays.values() if name]


def _obey(control: socket.socket, child: int) -> bool:
    """Do what the test asks, for one tick; False means: end it."""
    if not select.select([control], [], [], LOOK_EVERY_S)[0]:
        return True
    try:
        lines = control.recv(4096).decode().splitlines()
    except ConnectionResetError:  # the test died before it read what we said
        return False
    for line in lines:
        if line.startswith("signal "):
            os.kill(child, int(line.removeprefix("signal ")))
    return bool(lines) and "stop" not in lines


def _reap(child: int) -> int | None:
    """The program's exit code if it has ended; orphans that ended are reaped by the way."""
    while True:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == child:
            return os.waitstatus_to_exitcode(status)
        if pid == 0:
            return None


def _children() -> list[int]:
    """Processes whose parent this one is, by the kernel's own list."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = entry.read_text(errors="replace").rpartition(")")[2].split()
            if int(fields[1]) == os.getpid():
                found.append(int(entry.parent.name))
    return found


def _command_line(pid: int) -> str:
    with contextlib.suppress(OSError):
        raw = Path(f"/proc/{pid}/cmdline").read_bytes()
        return raw.replace(b"\0", b" ").decode(errors="replace").strip()
    return ""


def _die_with_parent() -> None:
    """A program that kills this process does not outlive it by that."""
    if sys.platform == "linux":
        _call("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _adopt_orphans() -> None:
    """Become the parent of every process that a child of ours leaves behind."""
    if sys.platform == "linux":
        _call("prctl", PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _call(name: str, *arguments: int) -> None:
    function = getattr(ctypes.CDLL(None, use_errno=True), name)
    if function(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def _tell(control: socket.socket, news: dict[str, object]) -> None:
    with contextlib.suppress(OSError):
        control.sendall(json.dumps(news).encode() + b"\n")


if __name__ == "__main__":
    main(sys.argv[1:])
