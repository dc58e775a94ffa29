use schemars::JsonSchema;
use serde::Serialize;

use crate::Tree;

/// `TCP_ESTABLISHED` and `TCP_LISTEN` as in `/proc/net/tcp` (`net/tcp_states.h`).
const ESTABLISHED: u32 = 1;
const LISTEN: u32 = 10;

/// Queues of a server's sockets at one moment: unread bytes, unacknowledged bytes, connections that are not
/// accepted yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct ServerQueues {
    /// Number of established connections.
    pub connections: u64,
    /// Bytes of requests waiting to be read, on all connections.
    pub receive_bytes: u64,
    /// Bytes waiting to be read on the connection with the most.
    pub receive_most_bytes: u64,
    /// Bytes of replies waiting to be sent or acknowledged, on all connections.
    pub send_bytes: u64,
    /// Connections waiting to be accepted.
    pub accept: u64,
}

impl ServerQueues {
    /// Read the sockets at `port` in the network namespace of process `pid`, or in the caller's: `net/tcp` and
    /// `net/tcp6`. `None` if neither can be read.
    pub fn read(tree: &Tree, port: u16, pid: Option<u32>) -> Option<Self> {
        let place = pid.map_or_else(|| "proc/net".to_owned(), |pid| format!("proc/{pid}/net"));
        let tables = ["tcp", "tcp6"].map(|name| tree.text(&format!("{place}/{name}")));
        if tables.iter().all(Option::is_none) {
            return None;
        }
        let mut sum = Self::default();
        for socket in tables.iter().flatten().flat_map(|text| text.lines()).filter_map(Socket::parse) {
            if socket.port != port {
                continue;
            }
            match socket.state {
                LISTEN => sum.accept = sum.accept.saturating_add(socket.receive),
                ESTABLISHED => {
                    sum.connections += 1;
                    sum.receive_bytes = sum.receive_bytes.saturating_add(socket.receive);
                    sum.receive_most_bytes = sum.receive_most_bytes.max(socket.receive);
                    sum.send_bytes = sum.send_bytes.saturating_add(socket.send);
                }
                _ => {}
            }
        }
        Some(sum)
    }
}

/// One line of `/proc/net/tcp` (`proc_net_tcp.rst` of the kernel): `0: ADDRESS:PORT ADDRESS:PORT STATE TX:RX ...`,
/// all in hexadecimal. RX of a listening socket is the length of its accept queue.
struct Socket {
    port: u16,
    state: u32,
    send: u64,
    receive: u64,
}

impl Socket {
    fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_ascii_whitespace().take(5).collect();
        let (_, port) = words.get(1)?.rsplit_once(':')?;
        let (send, receive) = words.get(4)?.split_once(':')?;
        Some(Self {
            port: u16::from_str_radix(port, 16).ok()?,
            state: u32::from_str_radix(words.get(3)?, 16).ok()?,
            send: u64::from_str_radix(send, 16).ok()?,
            receive: u64::from_str_radix(receive, 16).ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FakeTree;

    const TABLE: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n\
        \x20  0: 0100007F:2BCB 00000000:0000 0A 00000000:00000003 00:00000000 00000000     0\n\
        \x20  1: 0100007F:2BCB 0100007F:C356 01 00000010:000000FF 00:00000000 00000000     0\n\
        \x20  2: 0100007F:2BCB 0100007F:C357 01 00000000:00000001 00:00000000 00000000     0\n\
        \x20  3: 0100007F:C356 0100007F:2BCB 01 00000000:0000FFFF 00:00000000 00000000     0\n\
        \x20  4: 0100007F:2BCB 0100007F:C358 06 00000000:00000009 00:00000000 00000000     0\n";

    #[test]
    fn only_the_servers_side_of_its_own_port_counts() {
        let six = "  sl ...\n  0: 00000000000000000000000001000000:2BCB 00000000000000000000000000000000:0000 0A 00000000:00000002\n";
        let fake = FakeTree::new(&[("proc/net/tcp", TABLE), ("proc/5/net/tcp6", six)]);
        let here = ServerQueues::read(&fake.tree(), 11211, None).unwrap();
        let expected = ServerQueues {
            connections: 2,
            receive_bytes: 256,
            receive_most_bytes: 255,
            send_bytes: 16,
            accept: 3,
        };
        assert_eq!(here, expected);
        assert_eq!(ServerQueues::read(&fake.tree(), 11211, Some(5)).unwrap().accept, 2);
        assert_eq!(ServerQueues::read(&fake.tree(), 80, None), Some(ServerQueues::default()));
        assert_eq!(ServerQueues::read(&fake.tree(), 80, Some(9)), None);
    }
}
