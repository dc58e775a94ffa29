//! Prometheus metrics and a small page, on loopback.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::counters::{Kind, COUNTERS, UNKNOWN};
use crate::NerveError;

/// Number of samples on the page: ten minutes.
const KEPT_SAMPLES: usize = 600;
/// Most concurrent readers; further ones are refused.
const MAX_READERS: usize = 16;
/// Longest time from the first byte of a request to the last of its reply.
const DEADLINE: Duration = Duration::from_secs(5);
const PAGE: &str = include_str!("page.html");

/// State of the page: the last samples (wall clock in milliseconds, values) and events.
#[derive(Default)]
pub(crate) struct PageState {
    application: String,
    samples: VecDeque<(u64, Vec<i64>)>,
    events: VecDeque<(u64, String)>,
}

impl PageState {
    pub(crate) fn new(application: &str) -> Self {
        Self { application: application.to_owned(), ..Self::default() }
    }

    pub(crate) fn sample(&mut self, at_ms: u64, values: Vec<i64>) {
        self.samples.push_back((at_ms, values));
        while self.samples.len() > KEPT_SAMPLES {
            self.samples.pop_front();
        }
    }

    pub(crate) fn event(&mut self, at_ms: u64, text: String) {
        self.events.push_back((at_ms, text));
        while self.events.len() > KEPT_SAMPLES {
            self.events.pop_front();
        }
    }

    fn metrics(&self) -> String {
        let mut text = String::new();
        let Some((_, values)) = self.samples.back() else { return text };
        for (counter, value) in COUNTERS.iter().zip(values).filter(|(_, value)| **value != UNKNOWN) {
            let name = counter.name.replace('.', "_");
            let (suffix, kind) =
                if counter.kind == Kind::Total { ("_total", "counter") } else { ("", "gauge") };
            let _ = write!(
                text,
                "# HELP hindmost_{name}{suffix} {}\n# TYPE hindmost_{name}{suffix} {kind}\nhindmost_{name}{suffix} {value}\n",
                counter.about
            );
        }
        text
    }

    fn json(&self) -> String {
        let names: Vec<&str> = COUNTERS.iter().map(|counter| counter.name).collect();
        let totals: Vec<bool> = COUNTERS.iter().map(|counter| counter.kind == Kind::Total).collect();
        let known = |value: &i64| (*value != UNKNOWN).then_some(*value);
        let samples: Vec<(u64, Vec<Option<i64>>)> =
            self.samples.iter().map(|(at, values)| (*at, values.iter().map(known).collect())).collect();
        json!({
            "application": self.application, "names": names, "totals": totals, "samples": samples,
            "events": self.events,
        })
        .to_string()
    }
}

/// A server on loopback that runs until it is dropped.
pub(crate) struct PageServer {
    pub(crate) address: SocketAddr,
    stop: Arc<AtomicBool>,
}

impl PageServer {
    pub(crate) fn start(port: u16, state: Arc<Mutex<PageState>>) -> Result<Self, NerveError> {
        let requested = SocketAddr::from(([127, 0, 0, 1], port));
        let failed = |source| NerveError::Serve { address: requested.to_string(), source };
        let listener = TcpListener::bind(requested).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let serve = move || {
            let readers = Arc::new(());
            for stream in listener.incoming().flatten() {
                if stopped.load(Ordering::Relaxed) {
                    break;
                }
                if Arc::strong_count(&readers) > MAX_READERS {
                    continue;
                }
                let (reader, state) = (Arc::clone(&readers), Arc::clone(&state));
                // A reader that stops half-way must not affect the watch or other readers.
                let handle = move || {
                    let _ = answer(stream, &state);
                    drop(reader);
                };
                let _ = std::thread::Builder::new().name("reader".into()).spawn(handle);
            }
        };
        std::thread::Builder::new().name("page".into()).spawn(serve).map_err(failed)?;
        Ok(Self { address, stop })
    }
}

impl Drop for PageServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect_timeout(&self.address, Duration::from_millis(100));
    }
}

fn answer(mut stream: TcpStream, state: &Mutex<PageState>) -> std::io::Result<()> {
    let deadline = Instant::now() + DEADLINE;
    // Zero would disable the timeout.
    let remaining = || deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
    let mut bytes = Vec::new();
    while !bytes.windows(4).any(|four| four == b"\r\n\r\n") && bytes.len() < 16 * 1024 {
        let mut more = [0; 2048];
        stream.set_read_timeout(Some(remaining()))?;
        if Instant::now() >= deadline {
            return Ok(());
        }
        let count = stream.read(&mut more)?;
        if count == 0 {
            break;
        }
        bytes.extend_from_slice(&more[..count]);
    }
    let request = String::from_utf8_lossy(&bytes);
    let mut words = request.split_ascii_whitespace();
    let (method, path) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    // Refuse DNS rebinding: another site must not read this page through a name that resolves to loopback.
    let hosts =
        request.lines().filter_map(|line| line.to_ascii_lowercase().strip_prefix("host:").map(str::to_owned));
    let is_foreign = hosts.into_iter().any(|host| {
        let host = host.trim().rsplit_once(':').map_or(host.trim().to_owned(), |(host, _)| host.to_owned());
        host != "localhost" && host != "127.0.0.1"
    });
    let state = || state.lock().unwrap_or_else(PoisonError::into_inner);
    let (status, kind, body) = match (method, path) {
        _ if is_foreign => ("403 Forbidden", "text/plain", "use http://127.0.0.1\n".to_owned()),
        ("GET", "/") => ("200 OK", "text/html; charset=utf-8", PAGE.to_owned()),
        ("GET", "/metrics") => ("200 OK", "text/plain; version=0.0.4", state().metrics()),
        ("GET", "/samples.json") => ("200 OK", "application/json", state().json()),
        _ => ("404 Not Found", "text/plain", "available: /, /metrics and /samples.json\n".to_owned()),
    };
    let length = body.len();
    let text = format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}");
    let mut rest = text.as_bytes();
    while !rest.is_empty() && Instant::now() < deadline {
        stream.set_write_timeout(Some(remaining()))?;
        match stream.write(rest)? {
            0 => break,
            count => rest = &rest[count..],
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(address: SocketAddr, path: &str, host: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn a_slow_reader_does_not_delay_others() {
        let server = PageServer::start(0, Arc::new(Mutex::new(PageState::default()))).unwrap();
        let mut slow = TcpStream::connect(server.address).unwrap();
        slow.write_all(b"GET / HT").unwrap();
        let start = Instant::now();
        assert!(get(server.address, "/", "localhost").starts_with("HTTP/1.1 200"));
        assert!(start.elapsed() < DEADLINE);
        // Many slow readers do not block others either: excess ones are refused, and all end by the deadline.
        let many: Vec<_> = (0..100).map(|_| TcpStream::connect(server.address).unwrap()).collect();
        std::thread::sleep(AFTER_DEADLINE);
        drop(many);
        let mut rest = Vec::new();
        let _ = slow.read_to_end(&mut rest);
        assert!(rest.is_empty());
        assert!(get(server.address, "/", "localhost").starts_with("HTTP/1.1 200"));
    }

    const AFTER_DEADLINE: Duration = Duration::from_millis(5_500);

    #[test]
    fn metrics_are_prometheus_text_and_other_hosts_are_refused() {
        let state = Arc::new(Mutex::new(PageState::default()));
        let mut values: Vec<i64> = (0..COUNTERS.len() as i64).collect();
        values[2] = UNKNOWN;
        state.lock().unwrap().sample(7, values);
        let server = PageServer::start(0, Arc::clone(&state)).unwrap();
        let text = get(server.address, "/metrics", "127.0.0.1:9");
        assert!(
            text.contains("# TYPE hindmost_own_cpu_us_total counter\nhindmost_own_cpu_us_total 0\n"),
            "{text}"
        );
        assert!(text.contains("# TYPE hindmost_latency_p99_us gauge\n"));
        assert!(!text.contains(&COUNTERS[2].name.replace('.', "_")), "{text}");
        assert!(get(server.address, "/samples.json", "localhost").contains(r#""samples":[[7,[0,1,null,3,"#));
        assert!(get(server.address, "/samples.json", "evil.example").starts_with("HTTP/1.1 403"));
        assert!(get(server.address, "/nothing", "localhost").starts_with("HTTP/1.1 404"));
    }
}
