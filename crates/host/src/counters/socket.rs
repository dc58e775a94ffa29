use std::os::fd::RawFd;

use hindmost_sys::socket;
use schemars::JsonSchema;
use serde::Serialize;

/// One TCP socket as the kernel sees it now: `TCP_INFO` (tcp(7)) and `SO_MEMINFO` (since Linux 4.12).
/// Two system calls. What an older kernel does not tell is zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketCounters {
    /// Segments sent again since the connection was made (`tcpi_total_retrans`).
    pub retransmits: u64,
    /// Segments with data sent since then (`tcpi_data_segs_out`).
    pub data_segments: u64,
    /// Segments that came out of order: an earlier one was lost or overtaken (`tcpi_rcv_ooopack`).
    pub out_of_order: u64,
    /// Time with something to send, in microseconds (`tcpi_busy_time`).
    pub busy_us: u64,
    /// Of it, held up by the peer's full receive buffer (`tcpi_rwnd_limited`).
    pub peer_full_us: u64,
    /// Of it, held up by our own send buffer (`tcpi_sndbuf_limited`).
    pub send_full_us: u64,
    /// Memory that what was received and not yet read takes, and its limit.
    pub receive: Fill,
    /// Memory that what was written and not yet acknowledged takes, and its limit.
    pub send: Fill,
}

/// How full one buffer of a socket is. Its memory holds bookkeeping, too, so some two thirds of the limit
/// are data (`tcp_adv_win_scale`, tcp(7)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Fill {
    /// In use.
    pub bytes: u64,
    /// At most.
    pub limit_bytes: u64,
}

impl Fill {
    /// The share in use, 0 where there is no limit.
    pub fn share(&self) -> f64 {
        super::share(self.bytes, self.limit_bytes)
    }

    /// The fuller one.
    #[must_use]
    pub fn fuller(self, other: Self) -> Self {
        if other.limit_bytes > 0 && (self.limit_bytes == 0 || other.share() > self.share()) {
            other
        } else {
            self
        }
    }
}

impl SocketCounters {
    /// Reads the socket `fd`; `None` where it is no TCP socket.
    pub fn read(fd: RawFd) -> Option<Self> {
        let mut info = [0_u8; 512];
        let known = socket::tcp_info(fd, &mut info)?;
        let mut memory = [0_u8; 64];
        let told = socket::memory_info(fd, &mut memory).unwrap_or(0);
        Some(Self::parse(&info[..known], &memory[..told]))
    }

    /// Offsets of `struct tcp_info` (`linux/tcp.h`), which only ever grows at its end, and indices of
    /// `SK_MEMINFO_*` (`linux/sock_diag.h`).
    fn parse(info: &[u8], memory: &[u8]) -> Self {
        let four = |bytes: &[u8], at: usize| {
            let word = bytes.get(at..at + 4).and_then(|word| word.try_into().ok());
            u64::from(word.map_or(0, u32::from_ne_bytes))
        };
        let eight = |at: usize| {
            let word = info.get(at..at + 8).and_then(|word| word.try_into().ok());
            word.map_or(0, u64::from_ne_bytes)
        };
        let fill = |used: usize, limit: usize| Fill {
            bytes: four(memory, 4 * used),
            limit_bytes: four(memory, 4 * limit),
        };
        Self {
            retransmits: four(info, 100),
            data_segments: four(info, 156),
            out_of_order: four(info, 224),
            busy_us: eight(168),
            peer_full_us: eight(176),
            send_full_us: eight(184),
            receive: fill(0, 1),
            send: fill(5, 3),
        }
    }
}

/// What happened to some sockets between two readings of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct SocketSpan {
    /// How many were looked at.
    pub looked_at: u32,
    /// Segments sent again.
    pub retransmits: u64,
    /// Segments that came out of order.
    pub out_of_order: u64,
    /// Time with something to send, summed over the sockets, in microseconds.
    pub busy_us: u64,
    /// Of it, held up by the peer's full receive buffer.
    pub peer_full_us: u64,
    /// Of it, held up by the socket's own send buffer.
    pub send_full_us: u64,
    /// The fullest receive buffer, at either reading.
    pub receive: Fill,
    /// The fullest send buffer, at either reading.
    pub send: Fill,
}

impl SocketSpan {
    /// Adds one socket. A connection that was made anew meanwhile counts from zero.
    pub fn add(&mut self, before: &SocketCounters, after: &SocketCounters) {
        let since = |pick: fn(&SocketCounters) -> u64| {
            let (then, now) = (pick(before), pick(after));
            now.checked_sub(then).unwrap_or(now)
        };
        self.looked_at += 1;
        self.retransmits += since(|one| one.retransmits);
        self.out_of_order += since(|one| one.out_of_order);
        self.busy_us += since(|one| one.busy_us);
        self.peer_full_us += since(|one| one.peer_full_us);
        self.send_full_us += since(|one| one.send_full_us);
        self.receive = self.receive.fuller(before.receive).fuller(after.receive);
        self.send = self.send.fuller(before.send).fuller(after.send);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (ours, listener.accept().unwrap().0)
    }

    #[test]
    fn what_waits_in_real_buffers_is_seen() {
        let (mut ours, mut theirs) = pair();
        let empty = SocketCounters::read(ours.as_raw_fd()).unwrap();
        assert_eq!((empty.receive.bytes, empty.send.bytes), (0, 0));
        assert!(empty.receive.limit_bytes > 0 && empty.send.limit_bytes > 0);
        theirs.write_all(&[1; 1000]).unwrap();
        let mut one = [0];
        ours.read_exact(&mut one).unwrap();
        let held = SocketCounters::read(ours.as_raw_fd()).unwrap();
        assert!(held.receive.bytes >= 999, "{held:?}");

        // A peer that never reads fills both sides.
        ours.set_nonblocking(true).unwrap();
        while ours.write(&[0; 8192]).is_ok() {}
        let full = SocketCounters::read(ours.as_raw_fd()).unwrap();
        assert!(full.send.share() > 0.5, "{full:?}");
        let mut span = SocketSpan::default();
        span.add(&empty, &full);
        assert_eq!((span.looked_at, span.send), (1, full.send));

        // Counted in ticks, so it may take one.
        while SocketCounters::read(ours.as_raw_fd()).unwrap().busy_us == 0 {
            std::thread::yield_now();
        }
    }

    #[test]
    fn what_is_no_tcp_socket_is_none() {
        assert_eq!(SocketCounters::read(-1), None);
        assert_eq!(SocketCounters::read(std::fs::File::open("/dev/null").unwrap().as_raw_fd()), None);
    }

    #[test]
    fn an_old_kernel_tells_less() {
        let mut info = [0_u8; 104];
        info[100] = 7;
        let read = SocketCounters::parse(&info, &[]);
        assert_eq!(read, SocketCounters { retransmits: 7, ..SocketCounters::default() });
    }

    #[test]
    fn a_connection_made_anew_counts_from_zero() {
        let of = |retransmits| SocketCounters { retransmits, ..SocketCounters::default() };
        let mut span = SocketSpan::default();
        span.add(&of(5), &of(7));
        span.add(&of(5), &of(1));
        assert_eq!(span.retransmits, 3);
    }
}
