"""A tcpdump that does not disturb the measurement next to it.

::

    start ── listens ── SIGSTOP ═══ measurement: the kernel fills its ring ═══ SIGCONT ── drained ── SIGINT

While tcpdump is stopped, it uses no CPU time. The kernel copies each packet's first bytes into a ring in
memory, in the context of the sender or receiver, and wakes no process. The ring must therefore hold the whole
measurement. The kernel drops and counts packets that do not fit; the capture then proves nothing.
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
    try:
        os.sched_setaffinity(0, map(int, cpus.split(",")))
    except OSError:
        pass
os.execv(command[0], command)
"""
"""Program that replaces itself by the command, which the kernel kills when we end (``PR_SET_PDEATHSIG`` is
1). It is a separate program because Python code between fork and exec is unsafe in a process with threads.
"""


@dataclass(frozen=True, slots=True)
class FinishedCapture:
    """A finished capture and its own counts.

    Attributes
    ----------
    path : Path
        The pcap file.
    captured : int
        Packets in it.
    dropped : int
        Packets for which the kernel's ring had no space. If there are any, the capture proves nothing.
    whole : bool
        Whether tcpdump wrote everything before it was ended.
    """

    path: Path
    captured: int
    dropped: int
    whole: bool


def find_capture_fault(interface: str = "lo") -> HindmostError | None:
    """Return the error that prevents capturing here, or None. It tries a capture."""
    try:
        with Capture(Path(os.devnull), 9, interface=interface, ring_kib=1024):
            return None
    except HindmostError as error:
        return error


def tcpdump_path() -> str | None:
    """Return the path of tcpdump: from PATH, or from system folders that only root has in PATH."""
    return shutil.which("tcpdump") or shutil.which("tcpdump", path=_PLACES)


class Capture:
    """A running tcpdump, as a context manager that leaves no process behind.

    Parameters
    ----------
    path : Path
        The file to write.
    port : int
        The server's TCP port.
    interface : str, optional
        ``lo``, ``any``, or a network interface.
    snaplen : int, optional
        Bytes to keep of each packet, including headers.
    ring_kib : int, optional
        Size of the kernel's ring, in KiB. Each packet takes about ``snaplen + 80`` bytes, however short it
        is.
    packets : {"data", "opening", "all"}, optional
        Packets to capture: those with payload or that open a connection (no acknowledgements), only those
        that open a connection, or all.
    client_ports : sequence of int, optional
        Capture only connections from these ports. Default: all. Use a hundred or so at most, because the
        kernel compares them one by one.
    cpus : sequence of int, optional
        CPUs on which tcpdump may run: never a client's.

    Raises
    ------
    HostUnfit
        On entering, if tcpdump is missing or may not capture.
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
        self._messages = ""
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Process id of tcpdump."""
        assert self._process is not None
        return self._process.pid

    def __enter__(self) -> Self:
        program = tcpdump_path()
        if program is None:
            raise HostUnfit(
                "missing-program", "capturing packets needs tcpdump", hint=_INSTALL, name="tcpdump"
            )
        command = [program, "-n", "-i", self.interface, "-j", "host", "--time-stamp-precision=nano"]
        # Immediate mode uses no blocks. The kernel would deliver the last block a second late, and its timer
        # would run # during the measurement.
        command += ["--immediate-mode", "-s", str(self.snaplen), "-B", str(self.ring_kib), "-w", "-"]
        if os.geteuid() == 0:
            command += ["-Z", "root"]  # a change of user would clear PR_SET_PDEATHSIG (prctl(2))
        command.append(_filter(self.port, self.packets, self.client_ports))
        cpus = ",".join(map(str, self.cpus))
        # tcpdump may have no right to create files here, so it writes to a descriptor of ours.
        with self.path.open("wb") as out:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _DIES_WITH_US, str(os.getpid()), cpus, *command],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C at the terminal must not reach it directly
            )
        try:
            self._wait_for("listening on", _START_S)
            if self.interface == "lo":
                _ignore_outgoing(self.pid)
        except BaseException:
            self._end()
            raise
        return self

    def pause(self) -> None:
        """Stop tcpdump, so that only the kernel's ring records packets from now on."""
        self._signal(signal.SIGSTOP)
        # Wait until it is stopped. If it ended instead, WNOWAIT leaves its status for `poll`.
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def finish(self, within_s: float = _DRAIN_S) -> FinishedCapture:
        """Let tcpdump write the ring's contents, end it, and return the counts.

        Packets may keep arriving. Once tcpdump sleeps, all earlier packets are out of the ring.

        Parameters
        ----------
        within_s : float
            Time to wait for that, in seconds. After it, the capture is not `whole`.
        """
        process = self._process
        assert process is not None
        self._signal(signal.SIGCONT)
        deadline = time.monotonic() + within_s
        idle = 0
        while idle < _IDLE_LOOKS and process.poll() is None and time.monotonic() < deadline:
            time.sleep(_LOOK_S)
            idle = idle + 1 if _is_sleeping(process.pid) else 0
        self._end()
        counts = {what: int(number) for number, what in _COUNTS.findall(self._messages)}
        return FinishedCapture(
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

    def _wait_for(self, word: str, seconds: float) -> None:
        assert self._process is not None
        deadline = time.monotonic() + seconds
        while word not in self._messages:
            ended = not self._read_messages(0.1)
            if ended or time.monotonic() > deadline:
                raise self._failure()

    def _read_messages(self, seconds: float) -> bool:
        """Read tcpdump's messages for up to `seconds`. Return False at their end."""
        assert self._process is not None
        assert self._process.stderr is not None
        stream = self._process.stderr.fileno()
        if not select.select([stream], [], [], seconds)[0]:
            return True
        got = os.read(stream, 1 << 16)
        self._messages += got.decode(errors="replace")
        return bool(got)

    def _failure(self) -> HostUnfit:
        words = " ".join(self._messages.split())
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
            process.send_signal(signal.SIGINT)  # SIGINT makes it flush its file
            process.send_signal(signal.SIGCONT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_END_S)
        if process.poll() is None:
            process.kill()
            process.wait()
        assert process.stderr is not None
        with process.stderr as said:
            self._messages += said.read().decode(errors="replace")


def _is_sleeping(pid: int) -> bool:
    """Return whether tcpdump waits for packets, which means that the ring is empty (proc(5))."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] == b"S"
    except OSError:
        return False


def _filter(port: int, packets: Packets, client_ports: Sequence[int] = ()) -> str:
    """Return the kernel's packet filter (pcap-filter(7)).

    The payload's length is the IP packet's length without its headers. Extension headers between IPv6 and TCP
    are not skipped.

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
    """Make the kernel skip outgoing copies on loopback.

    On loopback the kernel delivers each packet twice, outgoing and incoming. libpcap drops the outgoing copy,
    but only after it has cost time and ring space. ``inbound`` in the filter does not help, because libpcap
    cannot evaluate it for packets that arrive before the filter is installed. If we may not access tcpdump's
    descriptors, the capture is still correct, but costs more.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    with contextlib.suppress(OSError):
        pidfd = os.pidfd_open(pid)
        try:
            for name in os.listdir(f"/proc/{pid}/fd"):  # noqa: PTH208
                if int(name) > 2 and (ours := libc.syscall(_PIDFD_GETFD, pidfd, int(name), 0)) >= 0:
                    one = ctypes.c_int(1)
                    # Fails for descriptors that are not packet sockets.
                    libc.setsockopt(ours, _SOL_PACKET, _PACKET_IGNORE_OUTGOING, ctypes.byref(one), 4)
                    os.close(ours)
        finally:
            os.close(pidfd)
