use std::os::fd::RawFd;

use hindmost_sys::socket;
use schemars::JsonSchema;
use serde::Serialize;

/// State of one TCP socket: `TCP_INFO` (tcp(7)) and `SO_MEMINFO` (Linux 4.12 or newer). Reading takes two system
/// calls. Fields that an older kernel lacks are zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketCounters {
    /// Retransmitted segments over the life of the connection (`tcpi_total_retrans`).
    pub retransmits: u64,
    /// Segments with data sent over the life of the connection (`tcpi_data_segs_out`).
    pub data_segments: u64,
    /// Segments that arrived out of order: an earlier one was lost or overtaken (`tcpi_rcv_ooopack`).
    pub out_of_order: u64,
    /// Time with something to send, in microseconds (`tcpi_busy_time`).
    pub busy_us: u64,
    /// Part of `busy_us` in which the peer's receive buffer was full (`tcpi_rwnd_limited`).
    pub peer_full_us: u64,
    /// Part of `busy_us` in which our send buffer was full (`tcpi_sndbuf_limited`).
    pub send_full_us: u64,
    /// Memory of received, unread data, and its limit.
    pub receive: Fill,
    /// Memory of written, unacknowledged data, and its limit.
    pub send: Fill,
}

/// How full a socket buffer is. Its memory includes bookkeeping, so about two thirds of the limit are data
/// (`tcp_adv_win_scale`, tcp(7)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Fill {
    /// Bytes in use.
    pub bytes: u64,
    /// Limit in bytes.
    pub limit_bytes: u64,
}

impl Fill {
    /// Return the fraction in use, 0 if there is no limit.
    pub fn share(&self) -> f64 {
        super::share(self.bytes, self.limit_bytes)
    }

    /// Return the fuller of the two.
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
    /// Read the socket `fd`; `None` if it is not a TCP socket.
    pub fn read(fd: RawFd) -> Option<Self> {
        let mut info = [0_u8; 512];
        let known = socket::tcp_info(fd, &mut info)?;
        let mut memory = [0_u8; 64];
        let told = socket::memory_info(fd, &mut memory).unwrap_or(0);
        Some(Self::parse(&info[..known], &memory[..told]))
    }

    /// Parse by offsets of `struct tcp_info` (`linux/tcp.h`), which only grows at its end, and indices of
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

/// Totals over some sockets between two readings of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct SocketSpan {
    /// Number of sockets.
    pub looked_at: u32,
    /// Retransmitted segments.
    pub retransmits: u64,
    /// Segments that arrived out of order.
    pub out_of_order: u64,
    /// Time with something to send, summed over the sockets, in microseconds.
    pub busy_us: u64,
    /// Part of `busy_us` in which the peer's receive buffer was full.
    pub peer_full_us: u64,
    /// Part of `busy_us` in which the socket's own send buffer was full.
    pub send_full_us: u64,
    /// The fullest receive buffer, at either reading.
    pub receive: Fill,
    /// The fullest send buffer, at either reading.
    pub send: Fill,
}

impl SocketSpan {
    /// Add one socket. A connection that was reopened meanwhile counts from zero.
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
    fn bytes_in_real_buffers_are_counted() {
        let (mut ours, mut theirs) = pair();
        let empty = SocketCounters::read(ours.as_raw_fd()).unwrap();
        assert_eq!((empty.receive.bytes, empty.send.bytes), (0, 0));
        assert!(empty.receive.limit_bytes > 0 && empty.send.limit_bytes > 0);
        theirs.write_all(&[1; 1000]).unwrap();
        let mut one = [0];
        ours.read_exact(&mut one).unwrap();
        let held = SocketCounters::read(ours.as_raw_fd()).unwrap();
        assert!(held.receive.bytes >= 999, "{held:?}");

        // A peer that never reads lets both buffers fill up.
        ours.set_nonblocking(true).unwrap();
        while ours.write(&[0; 8192]).is_ok() {}
        let full = SocketCounters::read(ours.as_raw_fd()).unwrap();
        assert!(full.send.share() > 0.5, "{full:?}");
        let mut span = SocketSpan::default();
        span.add(&empty, &full);
        assert_eq!((span.looked_at, span.send), (1, full.send));

        // The counter is in ticks and may need one to become positive.
        while SocketCounters::read(ours.as_raw_fd()).unwrap().busy_us == 0 {
            std::thread::yield_now();
        }
    }

    #[test]
    fn other_descriptors_than_tcp_sockets_are_none() {
        assert_eq!(SocketCounters::read(-1), None);
        assert_eq!(SocketCounters::read(std::fs::File::open("/dev/null").unwrap().as_raw_fd()), None);
    }

    #[test]
    fn fields_that_an_old_kernel_lacks_are_zero() {
        let mut info = [0_u8; 104];
        info[100] = 7;
        let read = SocketCounters::parse(&info, &[]);
        assert_eq!(read, SocketCounters { retransmits: 7, ..SocketCounters::default() });
    }

    #[test]
    fn a_reopened_connection_counts_from_zero() {
        let of = |retransmits| SocketCounters { retransmits, ..SocketCounters::default() };
        let mut span = SocketSpan::default();
        span.add(&of(5), &of(7));
        span.add(&of(5), &of(1));
        assert_eq!(span.retransmits, 3);
    }
}
