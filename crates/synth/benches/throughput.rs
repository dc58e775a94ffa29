//! Throughput of one server thread without service time: `cargo bench -p hindmost-synth`.
//! The server runs on CPU 0. Each client connection keeps `depth` requests in flight: gets of 100-byte values, or
//! pages over HTTP. The last column is requests per second of the server's CPU time.
#![allow(clippy::print_stdout, reason = "a benchmark is there to print")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use hindmost_synth::{Protocol, Server, ServerConfig};

const MEMCACHED: (&str, usize) = ("get key\r\n", "VALUE key 0 100\r\n\r\nEND\r\n".len() + 100);
const HTTP: (&str, usize) = (
    "GET /page HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok".len(),
);

fn client(
    address: std::net::SocketAddr,
    (request, reply): (&str, usize),
    depth: usize,
    until: Instant,
) -> u64 {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    let requests = request.repeat(depth);
    let mut replies = vec![0; reply * depth];
    let mut done = 0;
    while Instant::now() < until {
        stream.write_all(requests.as_bytes()).unwrap();
        stream.read_exact(&mut replies).unwrap();
        done += depth as u64;
    }
    done
}

fn main() {
    println!("protocol   connections  depth  requests/s  requests/s of CPU");
    for (protocol, talk) in [(Protocol::Memcached, MEMCACHED), (Protocol::Http, HTTP)] {
        for (connections, depth) in [(1, 1), (4, 1), (4, 16), (4, 64), (4, 256)] {
            let config = ServerConfig { cpus: Some(vec![0]), protocol, ..ServerConfig::default() };
            let server = Server::spawn(&config).unwrap();
            let address = server.local_address();
            if protocol == Protocol::Memcached {
                let mut setter = TcpStream::connect(address).unwrap();
                setter.write_all(format!("set key 0 0 100\r\n{}\r\n", "v".repeat(100)).as_bytes()).unwrap();
                setter.read_exact(&mut [0; 8]).unwrap();
            }
            let start = Instant::now();
            let until = start + Duration::from_secs(1);
            let clients: Vec<_> = (0..connections)
                .map(|_| std::thread::spawn(move || client(address, talk, depth, until)))
                .collect();
            let done: u64 = clients.into_iter().map(|client| client.join().unwrap()).sum();
            let seconds = start.elapsed().as_secs_f64();
            let cpu = server.stop().unwrap().host[0].cpu_ns as f64 / 1e9;
            let name = format!("{protocol:?}").to_lowercase();
            println!(
                "{name:<9}  {connections:>11}  {depth:>5}  {:>10.0}  {:>17.0}",
                done as f64 / seconds,
                done as f64 / cpu
            );
        }
    }
}
