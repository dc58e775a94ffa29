//! Send the same requests to this server and to a real memcached, and compare the replies byte by byte.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use hindmost_synth::{Server, ServerConfig};

struct MemcachedProcess(Child);

impl Drop for MemcachedProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Start a memcached; return `None` if it is not installed.
fn start_memcached() -> Option<(MemcachedProcess, SocketAddr)> {
    for _ in 0..5 {
        let address = TcpListener::bind("127.0.0.1:0").ok()?.local_addr().ok()?;
        let child = Command::new("memcached")
            .args(["-u", "nobody", "-l", "127.0.0.1", "-U", "0", "-p"])
            .arg(address.port().to_string())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let child = MemcachedProcess(child);
        for _ in 0..200 {
            if TcpStream::connect(address).is_ok() {
                return Some((child, address));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    None
}

/// Return all replies to `request`; a final `quit` makes the server close the connection.
fn converse(address: SocketAddr, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream.write_all(request).unwrap();
    let _ = stream.write_all(b"quit\r\n");
    let _ = stream.shutdown(Shutdown::Write);
    let mut reply = Vec::new();
    match stream.read_to_end(&mut reply) {
        Err(error) if error.kind() != ErrorKind::ConnectionReset => {
            panic!("{error} after {request:?}")
        }
        _ => String::from_utf8_lossy(&reply).into_owned(),
    }
}

/// Command sequences with `|` as line end. Each starts with an empty store.
const SEQUENCES: &[&str] = &[
    "get a|",
    "set a 5 0 3|abc|get a|get  a   b |",
    "set a 0 0 3|abc|get a a b a|get b a|",
    "set a 0 0 3 noreply|abc|get a|",
    "set a 0 0 3 foo|abc|get a|",
    "set a 4294967295 0 3|abc|get a|",
    "set a +1 0 +3|abc|get a|",
    "set a 0 0  3|abc| get a|",
    "set n 0 0 0||get n|",
    "set a 0 0 4|a|b|get a|",
    "set a 0 -1 3|abc|get a|",
    "set a 0 100 3|abc|get a|",
    "set a 0 0 3|abc|set a 0 0 3|abcd|get a|",
    "set a 0 0 1 noreply|xyz|get a|",
    "set a 0 0|set a|set|",
    "set a 0 0 x|set a 0 0 -1|set a 0 0 2147483647|",
    "set a x 0 1 noreply|x|",
    "set a -1 0 3|abc|get a|",
    "set a 0 abc 3|abc|",
    "set a 0x10 0 3|abc|get a|",
    "set a 0 0 3junk|abc|",
    "set a 0 0 3 noreply x|abc|get a|",
    "add a 0 0 1 2 3 4 5|x|",
    "add b 1 0 1|x|add b 2 0 1|y|get b|replace b 3 0 1|z|get b|delete b|replace b 3 0 1|z|",
    "set a 0 0 1|x|delete a|delete a|get a|",
    "delete a 0|delete a 1|delete|delete a b c d|delete a b c|delete a b noreply|",
    "set a 0 0 1|x|delete a noreply|get a|set a 0 0 1|x|delete a 0 noreply|get a|",
    "set a 0 0 1|x|flush_all|get a|set a 0 0 1|x|get a|",
    "flush_all noreply|flush_all 0|flush_all 0 noreply|flush_all -1|flush_all abc|flush_all 1 2 3|",
    "foo|get|gets|get |   |||GET a|stats foo|",
    "quit|get a|",
    "quit now|get a|",
    "get a\n",
    "set a 0 0 3\nabc|get a\n",
    "\n\n",
];

#[test]
fn replies_equal_those_of_memcached() {
    let Some((_child, real)) = start_memcached() else {
        assert!(std::env::var_os("CI").is_none(), "CI must have a memcached to compare with");
        return;
    };
    let server = Server::spawn(&ServerConfig::default()).unwrap();
    let (long, longer) = ("k".repeat(250), "k".repeat(251));
    let (value, large) = ("v".repeat(500_000), "v".repeat(2_000_000));
    let mut sequences: Vec<String> = SEQUENCES.iter().map(|&text| text.to_owned()).collect();
    sequences.extend([
        format!("set {long} 0 0 1|x|get {long}|delete {long}|"),
        format!(
            "get a {longer} b|delete {longer}|set {longer} 0 0 5|versi|set {longer} 0 0 5 noreply|versi|"
        ),
        format!("set a 0 0 500000|{value}|get a|"),
        format!("set a 0 0 1|x|set a 0 0 2000000|{large}|get a|"),
        format!("set a 0 0 1|x|set a 0 0 2000000 noreply|{large}|get a|"),
        format!("get{}|", " a".repeat(2_000)),
        "set a 0 0 3|abc|get a|foo|".repeat(500),
    ]);
    for sequence in sequences {
        let request = sequence.replace('|', "\r\n");
        let [ours, theirs] = [server.local_address(), real].map(|address| {
            assert_eq!(converse(address, b"flush_all\r\n"), "OK\r\n");
            converse(address, request.as_bytes())
        });
        let shown = &sequence[..sequence.len().min(200)];
        assert!(ours == theirs, "{shown}\n  ours: {ours:.300?}\ntheirs: {theirs:.300?}");
    }
}
