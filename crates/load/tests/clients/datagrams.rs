//! Oversized UDP replies.

use super::common::{plan, run};
use serde_json::json;

/// Start a server that answers every question over UDP with itself, and every tenth with 20,000 bytes.
fn long_winded() -> String {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap().to_string();
    // Ends with the test binary.
    std::thread::spawn(move || {
        let mut bytes = vec![0; 20_000];
        for asked in 1_u64.. {
            let Ok((n, client)) = socket.recv_from(&mut bytes) else { continue };
            bytes[2] |= 0x80; // a reply (RFC 1035, 4.1.1)
            let length = if asked % 10 == 0 { bytes.len() } else { n };
            let _ = socket.send_to(&bytes[..length], client);
        }
    });
    address
}

#[test]
fn an_oversized_datagram_fails_only_its_own_request() {
    let changes = json!({
        "workload": {"kind": "dns", "queries": [{"name": "www.example"}]}, "timeout_s": 1.0,
        // All questions fit into the server's socket buffer, even while the server cannot read.
        "load": {"loop": "open", "rate_per_s": 200.0}, "preload": false,
    });
    let ran = run(&plan("dns", &long_winded(), &changes)).unwrap();
    let dropped = ran.result["datagrams"]["oversized"].as_u64().unwrap();
    // Over the whole load, of which the measurement is two thirds. A busy host may delay others, but drops
    // none.
    assert!((3..=9).contains(&dropped), "{}", ran.result["datagrams"]);
    let (timeouts, lost) = (ran.count("timeouts"), ran.count("lost"));
    let late = ran.result["datagrams"]["late"].as_u64().unwrap();
    assert!((1..=dropped + late).contains(&timeouts) && lost == 0, "{timeouts} {lost}: {}", ran.result);
    assert_eq!(ran.count("scheduled"), ran.count("completed") + timeouts, "{}", ran.result["counts"]);
}
