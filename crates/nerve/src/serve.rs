//! Prometheus' text and a small page, on loopback.

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

/// Samples that the page shows: ten minutes.
const KEPT: usize = 600;
/// Who may read at a time; whoever comes then is turned away.
const READERS: usize = 16;
/// From the first byte of a request to the last of its answer.
const PATIENCE: Duration = Duration::from_secs(5);
const PAGE: &str = include_str!("page.html");

/// What is served: the last samples (wall clock in milliseconds, values) and events.
#[derive(Default)]
pub(crate) struct Shown {
    application: String,
    samples: VecDeque<(u64, Vec<i64>)>,
    events: VecDeque<(u64, String)>,
}

impl Shown {
    pub(crate) fn of(application: &str) -> Self {
        Self { application: application.to_owned(), ..Self::default() }
    }

    pub(crate) fn sample(&mut self, at_ms: u64, values: Vec<i64>) {
        self.samples.push_back((at_ms, values));
        while self.samples.len() > KEPT {
            self.samples.pop_front();
        }
    }

    pub(crate) fn event(&mut self, at_ms: u64, text: String) {
        self.events.push_back((at_ms, text));
        while self.events.len() > KEPT {
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

/// A server on loopback until it is dropped.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    stop: Arc<AtomicBool>,
}

impl Served {
    pub(crate) fn start(port: u16, shown: Arc<Mutex<Shown>>) -> Result<Self, NerveError> {
        let wanted = SocketAddr::from(([127, 0, 0, 1], port));
        let failed = |source| NerveError::Serve { address: wanted.to_string(), source };
        let listener = TcpListener::bind(wanted).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let serve = move || {
            let readers = Arc::new(());
            for stream in listener.incoming().flatten() {
                if stopped.load(Ordering::Relaxed) {
                    break;
                }
                if Arc::strong_count(&readers) > READERS {
                    continue;
                }
                let (reader, shown) = (Arc::clone(&readers), Arc::clone(&shown));
                // Whoever reads half an answer is no concern of the watch, nor of other readers.
                let answering = move || {
                    let _ = answer(stream, &shown);
                    drop(reader);
                };
                let _ = std::thread::Builder::new().name("reader".into()).spawn(answering);
            }
        };
        std::thread::Builder::new().name("page".into()).spawn(serve).map_err(failed)?;
        Ok(Self { address, stop })
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect_timeout(&self.address, Duration::from_millis(100));
    }
}

fn answer(mut stream: TcpStream, shown: &Mutex<Shown>) -> std::io::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    // Zero would mean for ever.
    let left = || deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
    let mut bytes = Vec::new();
    while !bytes.windows(4).any(|four| four == b"\r\n\r\n") && bytes.len() < 16 * 1024 {
        let mut more = [0; 2048];
        stream.set_read_timeout(Some(left()))?;
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
    // A page of another site must not read ours through a name that it lets point to loopback.
    let foreign =
        request.lines().filter_map(|line| line.to_ascii_lowercase().strip_prefix("host:").map(str::to_owned));
    let foreign = foreign.into_iter().any(|host| {
        let host = host.trim().rsplit_once(':').map_or(host.trim().to_owned(), |(host, _)| host.to_owned());
        host != "localhost" && host != "127.0.0.1"
    });
    let shown = || shown.lock().unwrap_or_else(PoisonError::into_inner);
    let (status, kind, body) = match (method, path) {
        _ if foreign => ("403 Forbidden", "text/plain", "ask 127.0.0.1\n".to_owned()),
        ("GET", "/") => ("200 OK", "text/html; charset=utf-8", PAGE.to_owned()),
        ("GET", "/metrics") => ("200 OK", "text/plain; version=0.0.4", shown().metrics()),
        ("GET", "/samples.json") => ("200 OK", "application/json", shown().json()),
        _ => ("404 Not Found", "text/plain", "there are /, /metrics and /samples.json\n".to_owned()),
    };
    let length = body.len();
    let text = format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}");
    let mut rest = text.as_bytes();
    while !rest.is_empty() && Instant::now() < deadline {
        stream.set_write_timeout(Some(left()))?;
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
    fn a_slow_reader_keeps_no_other_waiting() {
        let served = Served::start(0, Arc::new(Mutex::new(Shown::default()))).unwrap();
        let mut slow = TcpStream::connect(served.address).unwrap();
        slow.write_all(b"GET / HT").unwrap();
        let begun = Instant::now();
        assert!(get(served.address, "/", "localhost").starts_with("HTTP/1.1 200"));
        assert!(begun.elapsed() < PATIENCE);
        // Nor do many; those beyond are turned away, and all are gone in the end.
        let many: Vec<_> = (0..100).map(|_| TcpStream::connect(served.address).unwrap()).collect();
        std::thread::sleep(PAST);
        drop(many);
        let mut rest = Vec::new();
        let _ = slow.read_to_end(&mut rest);
        assert!(rest.is_empty());
        assert!(get(served.address, "/", "localhost").starts_with("HTTP/1.1 200"));
    }

    const PAST: Duration = Duration::from_millis(5_500);

    #[test]
    fn metrics_are_prometheus_text_and_other_sites_are_refused() {
        let shown = Arc::new(Mutex::new(Shown::default()));
        let mut values: Vec<i64> = (0..COUNTERS.len() as i64).collect();
        values[2] = UNKNOWN;
        shown.lock().unwrap().sample(7, values);
        let served = Served::start(0, Arc::clone(&shown)).unwrap();
        let text = get(served.address, "/metrics", "127.0.0.1:9");
        assert!(
            text.contains("# TYPE hindmost_own_cpu_us_total counter\nhindmost_own_cpu_us_total 0\n"),
            "{text}"
        );
        assert!(text.contains("# TYPE hindmost_latency_p99_us gauge\n"));
        assert!(!text.contains(&COUNTERS[2].name.replace('.', "_")), "{text}");
        assert!(get(served.address, "/samples.json", "localhost").contains(r#""samples":[[7,[0,1,null,3,"#));
        assert!(get(served.address, "/samples.json", "evil.example").starts_with("HTTP/1.1 403"));
        assert!(get(served.address, "/nothing", "localhost").starts_with("HTTP/1.1 404"));
    }
}
