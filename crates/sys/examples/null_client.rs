//! The minimal closed-loop client: wait (epoll), read, write. It has no clock, histogram or parser, so the
//! additional cost of another client is that client's own share of a request's cost (`benches/peers`).
//!
//! `null_client ADDRESS CONNECTIONS SECONDS FILE BYTES`: FILE holds requests of BYTES bytes each, which are sent in
//! turn; all replies must be as long as the first one. Prints one line of JSON.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::epoll::{add, create, wait, CreateFlags, Event, EventData, EventFlags};

/// The first reply is complete after this time without new bytes.
const QUIET: Duration = Duration::from_millis(200);
const READY: usize = 64;
const READ_BYTES: usize = 256 * 1024;

/// A connection, and the number of bytes missing from its reply.
struct Line {
    stream: TcpStream,
    left: usize,
}

fn reply_length(address: &str, request: &[u8]) -> io::Result<usize> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(request)?;
    let mut into = [0; 4096];
    let mut length = stream.read(&mut into)?;
    stream.set_read_timeout(Some(QUIET))?;
    loop {
        match stream.read(&mut into) {
            Ok(0) => return Ok(length),
            Ok(more) => length += more,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(length),
            Err(error) => return Err(error),
        }
    }
}

/// Send `requests` in turn over `connections` until `stop` is set; count replies in `answered`.
fn drive(
    address: &str,
    connections: usize,
    requests: &[&[u8]],
    stop: &AtomicBool,
    answered: &AtomicU64,
) -> io::Result<()> {
    let length = reply_length(address, requests[0])?;
    let looks = create(CreateFlags::CLOEXEC)?;
    let mut turn = requests.iter().cycle();
    let mut lines = Vec::with_capacity(connections);
    for slot in 0..connections {
        let mut stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        add(&looks, stream.as_fd(), EventData::new_u64(slot as u64), EventFlags::IN)?;
        stream.write_all(turn.next().unwrap_or(&requests[0]))?;
        lines.push(Line { stream, left: length });
    }
    let (mut into, mut ready) = (vec![0; READ_BYTES], Vec::<Event>::with_capacity(READY));
    let mut done = 0;
    while !stop.load(Ordering::Relaxed) {
        ready.clear();
        wait(&looks, rustix::buffer::spare_capacity(&mut ready), None)?;
        for event in &ready {
            let line = &mut lines[event.data.u64() as usize];
            let got = line.stream.read(&mut into)?;
            if got == 0 || got > line.left {
                return Err(io::Error::other(format!("{got} bytes received, but {} expected", line.left)));
            }
            line.left -= got;
            if line.left == 0 {
                line.left = length;
                done += 1;
                line.stream.write_all(turn.next().unwrap_or(&requests[0]))?;
            }
        }
        answered.store(done, Ordering::Relaxed);
    }
    Ok(())
}

fn run(words: &[String]) -> Result<String, Box<dyn std::error::Error>> {
    let [_, address, connections, seconds, file, bytes] = words else {
        return Err("null_client ADDRESS CONNECTIONS SECONDS FILE BYTES".into());
    };
    let (all, seconds) = (std::fs::read(file)?, seconds.parse::<f64>()?);
    let requests: Vec<&[u8]> = all.chunks_exact(bytes.parse()?).collect();
    let connections = connections.parse()?;
    let (stop, answered) = (AtomicBool::new(false), AtomicU64::new(0));
    let begun = Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_secs_f64(seconds));
            stop.store(true, Ordering::Relaxed);
        });
        drive(address, connections, &requests, &stop, &answered)
    })?;
    let (requests, took) = (answered.into_inner(), begun.elapsed().as_secs_f64());
    Ok(format!("{{\"requests\": {requests}, \"seconds\": {took}}}\n"))
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().collect();
    let (code, text) = match run(&words) {
        Ok(text) => (ExitCode::SUCCESS, text),
        Err(error) => (ExitCode::FAILURE, format!("error: {error}\n")),
    };
    let written = if code == ExitCode::SUCCESS {
        io::stdout().write_all(text.as_bytes())
    } else {
        io::stderr().write_all(text.as_bytes())
    };
    written.map_or(ExitCode::FAILURE, |()| code)
}
