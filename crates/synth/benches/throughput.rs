//! Requests a second of one server thread without service time: `cargo bench -p hindmost-synth`.
//! Server on CPU 0; clients of `connections` threads keep `depth` gets of 100-byte values in flight each.
#![allow(clippy::print_stdout, reason = "a benchmark is there to print")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use hindmost_synth::{Server, ServerConfig};

fn client(address: std::net::SocketAddr, depth: usize, until: Instant) -> u64 {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    let requests = b"get key\r\n".repeat(depth);
    let reply = "VALUE key 0 100\r\n\r\nEND\r\n".len() + 100;
    let mut replies = vec![0; reply * depth];
    let mut done = 0;
    while Instant::now() < until {
        stream.write_all(&requests).unwrap();
        stream.read_exact(&mut replies).unwrap();
        done += depth as u64;
    }
    done
}

fn main() {
    println!("connections  depth  requests/s");
    for (connections, depth) in [(1, 1), (4, 1), (1, 16), (4, 16), (4, 64), (4, 256)] {
        let server = Server::spawn(&ServerConfig { cpus: Some(vec![0]), ..ServerConfig::default() }).unwrap();
        let address = server.local_address();
        let mut setter = TcpStream::connect(address).unwrap();
        setter.write_all(format!("set key 0 0 100\r\n{}\r\n", "v".repeat(100)).as_bytes()).unwrap();
        setter.read_exact(&mut [0; 8]).unwrap();
        let began = Instant::now();
        let until = began + Duration::from_secs(2);
        let clients: Vec<_> =
            (0..connections).map(|_| std::thread::spawn(move || client(address, depth, until))).collect();
        let done: u64 = clients.into_iter().map(|client| client.join().unwrap()).sum();
        let seconds = began.elapsed().as_secs_f64();
        println!("{connections:>11}  {depth:>5}  {:>10.0}", done as f64 / seconds);
    }
}
