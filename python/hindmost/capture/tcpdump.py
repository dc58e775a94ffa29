"""A tcpdump next to a measurement, which must not disturb it.

::

    start ── listens ── SIGSTOP ═══ measurement: the kernel fills its ring ═══ SIGCONT ── drained ── SIGINT

While it is stopped nothing of it runs: the kernel copies each packet's first bytes into a ring in memory, in
the context of whoever sent or received the packet, and wakes nobody. So the ring must hold the whole
measurement; what does not fit is dropped by the kernel, counted, and makes the proof void.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from hindmost.errors import HindmostError, HostUnfit

_PLACES = "/usr/local/sbin:/usr/sbin:/sbin"
Packets = Literal["data", "opening", "all"]

_SOL_PACKET, _PACKET_IGNORE_OUTGOING = 263, 23  # linux/socket.h, linux/if_packet.h
_PIDFD_GETFD = 438  # the same on all architectures (pidfd_getfd(2))
_START_S = 10.0
_DRAIN_S = 60.0
_END_S = 2.0
_LOOK_S = 0.05
_IDLE_LOOKS = 4
_COUNTS = re.compile(r"^(\d+) packets? (captured|dropped by kernel)$", re.MULTILINE)

_INSTALL = "apt-get install tcpdump"
_PERMIT = (
    "run as root, or allow tcpdump to capture:"
    " sudo setcap cap_net_raw,cap_net_admin=eip $(command -v tcpdump)"
)

_DIES_WITH_US = """
import ctypes, os, signal, sys
us, cpus, *command = sys.argv[1:]
ctypes.CDLL(None).prctl(1, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0)
if os.getppid() != int(us):
    sys.exit(1)
if cpus:
    os.sched_setaffinity(0, map(int, cpus.split(",")))
os.execv(command[0], command)
"""
"""Becomes the command, with the order to be killed when we end (``PR_SET_PDEATHSIG`` is 1). A program of its
own, because Python code between fork and exec is unsafe next to threads."""


@dataclass(frozen=True, slots=True)
class Caught:
    """What a capture has, by its own count.

    Attributes
    ----------
    path : Path
        The pcap file.
    captured : int
        Packets in it.
    dropped : int
        Packets that the kernel had no room for: then nothing can be proved by it.
    whole : bool
        False where it had to be ended before everything was written.
    """

    path: Path
    captured: int
    dropped: int
    whole: bool


def capture_fault(interface: str = "lo") -> HindmostError | None:
    """Say why nothing can be captured here, if so, having tried it."""
    try:
        with Capture(Path(os.devnull), 9, interface=interface, ring_kib=1024):
            return None
    except HindmostError as error:
        return error


def tcpdump_path() -> str | None:
    """Where tcpdump is: on PATH, or where systems keep it from those who are not root."""
    return shutil.which("tcpdump") or shutil.which("tcpdump", path=_PLACES)


class Capture:
    """A running tcpdump; a context manager, which leaves no process behind.

    Parameters
    ----------
    path : Path
        The file that it writes.
    port : int
        The server's TCP port.
    interface : str, optional
        ``lo``, ``any``, or a network interface.
    snaplen : int, optional
        Bytes kept of each packet, headers included.
    ring_kib : int, optional
        The kernel's ring, in KiB. Each packet takes about ``snaplen + 80`` bytes, however short it is.
    packets : {"data", "opening", "all"}, optional
        Those with payload and those that open connections (no acknowledgements); only those that open
        connections; or all.
    client_ports : sequence of int, optional
        Only the connections from these ports; default: all. Some hundred at most, since the kernel compares
        them one by one.
    cpus : sequence of int, optional
        Where it may run: never on a client's processor.

    Raises
    ------
    HostUnfit
        On entering, if there is no tcpdump or it may not capture.
    """

    def __init__(
        self,
        path: Path,
        port: int,
        *,
        interface: str = "lo",
        snaplen: int = 256,
        ring_kib: int = 256 * 1024,
        packets: Packets = "data",
        client_ports: Sequence[int] = (),
        cpus: Sequence[int] = (),
    ) -> None:
        self.path = path
        self.port = port
        self.interface = interface
        self.snaplen = snaplen
        self.ring_kib = ring_kib
        self.packets = packets
        self.client_ports = client_ports
        self.cpus = cpus
        self._said = ""
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Process id of the tcpdump."""
        assert self._process is not None
        return self._process.pid

    def __enter__(self) -> Self:
        program = tcpdump_path()
        if program is None:
            raise HostUnfit(
                "missing-program", "capturing packets needs tcpdump", hint=_INSTALL, name="tcpdump"
            )
        command = [program, "-n", "-i", self.interface, "-j", "host", "--time-stamp-precision=nano"]
        # Immediate: without blocks, whose last one the kernel would hand out a second late, and whose timer
        # would run during the measurement.
        command += ["--immediate-mode", "-s", str(self.snaplen), "-B", str(self.ring_kib), "-w", "-"]
        if os.geteuid() == 0:
            command += ["-Z", "root"]  # a change of user would clear the order to die with us (prctl(2))
        command.append(_filter(self.port, self.packets, self.client_ports))
        cpus = ",".join(map(str, self.cpus))
        # Written through a descriptor of ours: tcpdump may have no right to create files here.
        with self.path.open("wb") as out:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _DIES_WITH_US, str(os.getpid()), cpus, *command],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.PIPE,
                start_new_session=True,  # the terminal's Ctrl-C is ours to pass on
            )
        try:
            self._await("listening on", _START_S)
            if self.interface == "lo":
                _ignore_outgoing(self.pid)
        except BaseException:
            self._end()
            raise
        return self

    def hold(self) -> None:
        """Stop it, so that nothing wakes up: from now on the kernel's ring takes everything."""
        self._signal(signal.SIGSTOP)
        # Until it is so; an end is left for those who ask for its status.
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def finish(self, within_s: float = _DRAIN_S) -> Caught:
        """Let it write what the ring holds, and end it; says what it has.

        Packets may go on coming: once it sleeps, all that came before is out of the ring.

        Parameters
        ----------
        within_s : float
            How long to wait for that; what is not `whole` by then stays so.
        """
        process = self._process
        assert process is not None
        self._signal(signal.SIGCONT)
        deadline = time.monotonic() + within_s
        idle = 0
        while idle < _IDLE_LOOKS and process.poll() is None and time.monotonic() < deadline:
            time.sleep(_LOOK_S)
            idle = idle + 1 if _sleeps(process.pid) else 0
        self._end()
        counts = {what: int(number) for number, what in _COUNTS.findall(self._said)}
        return Caught(
            self.path,
            captured=counts.get("captured", 0),
            dropped=counts.get("dropped by kernel", 0),
            whole=idle >= _IDLE_LOOKS and len(counts) == 2,
        )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(number)

    def _await(self, word: str, seconds: float) -> None:
        assert self._process is not None
        deadline = time.monotonic() + seconds
        while word not in self._said:
            ended = not self._hear(0.1)
            if ended or time.monotonic() > deadline:
                raise self._failure()

    def _hear(self, seconds: float) -> bool:
        """Take what it says within so many seconds; False at its end."""
        assert self._process is not None
        assert self._process.stderr is not None
        stream = self._process.stderr.fileno()
        if not select.select([stream], [], [], seconds)[0]:
            return True
        got = os.read(stream, 1 << 16)
        self._said += got.decode(errors="replace")
        return bool(got)

    def _failure(self) -> HostUnfit:
        words = " ".join(self._said.split())
        if "permission" in words.lower() or "not permitted" in words.lower():
            return HostUnfit(
                "capture-refused",
                f"tcpdump may not capture on {self.interface}: {words}",
                hint=_PERMIT,
                name=self.interface,
            )
        if "No such device" in words or "doesn't exist" in words:
            return HostUnfit(
                "no-such-interface",
                f"there is no interface {self.interface}: {words}",
                hint="ip link",
                name=self.interface,
            )
        return HostUnfit(
            "capture-failed",
            f"tcpdump does not listen on {self.interface}: {words or 'no output'}",
            hint=f"tcpdump -n -i {self.interface} -c 1",
            name=self.interface,
        )

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.poll() is None:
            process.send_signal(signal.SIGINT)  # it flushes its file
            process.send_signal(signal.SIGCONT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_END_S)
        if process.poll() is None:
            process.kill()
            process.wait()
        assert process.stderr is not None
        with process.stderr as said:
            self._said += said.read().decode(errors="replace")


def _sleeps(pid: int) -> bool:
    """Whether it waits for packets, as it does when the ring is empty (proc(5))."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] == b"S"
    except OSError:
        return False


def _filter(port: int, packets: Packets, client_ports: Sequence[int] = ()) -> str:
    """What the kernel lets through (pcap-filter(7)).

    The payload's length is that of the IP packet without its headers; headers between IPv6 and TCP are not
    looked behind.

    Examples
    --------
    >>> _filter(8, "opening")
    'tcp port 8 and ((ip and tcp[13] & 2 != 0) or (ip6 and ip6[53] & 2 != 0))'
    """
    terms = [f"tcp port {port}"]
    opens = ("tcp[13] & 2 != 0", "ip6[53] & 2 != 0")
    if packets == "opening":
        terms.append(f"((ip and {opens[0]}) or (ip6 and {opens[1]}))")
    elif packets == "data":
        ipv4 = f"ip and (ip[2:2] - ((ip[0] & 15) << 2) - ((tcp[12] & 240) >> 2) != 0 or {opens[0]})"
        ipv6 = f"ip6 and (ip6[4:2] - ((ip6[52] & 240) >> 2) != 0 or {opens[1]})"
        terms.append(f"(({ipv4}) or ({ipv6}))")
    if client_ports:
        terms.append(f"({' or '.join(f'tcp port {one}' for one in client_ports)})")
    return " and ".join(terms)


def _ignore_outgoing(pid: int) -> None:
    """Spare the kernel the outgoing copies on loopback.

    There it shows each packet twice, on its way out and on its way in; libpcap drops the first, but only
    after it has cost time and room in the ring. ``inbound`` in the filter is no help: libpcap itself cannot
    evaluate it, as it has to for what comes before the filter is in place. Where we may not reach into
    tcpdump, all stays right, and costs more.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    with contextlib.suppress(OSError):
        pidfd = os.pidfd_open(pid)
        try:
            for name in os.listdir(f"/proc/{pid}/fd"):  # noqa: PTH208
                if int(name) > 2 and (ours := libc.syscall(_PIDFD_GETFD, pidfd, int(name), 0)) >= 0:
                    one = ctypes.c_int(1)
                    # Fails on whatever is no packet socket.
                    libc.setsockopt(ours, _SOL_PACKET, _PACKET_IGNORE_OUTGOING, ctypes.byref(one), 4)
                    os.close(ours)
        finally:
            os.close(pidfd)
