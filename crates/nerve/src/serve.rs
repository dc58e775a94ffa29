//! Metrics for Prometheus and a small page, on loopback.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::page::{lock, PageState};
use crate::NerveError;

/// Most concurrent readers; further ones are refused.
const MAX_READERS: usize = 16;
/// Longest time from the first byte of a request to the last of its reply.
const DEADLINE: Duration = Duration::from_secs(5);
const PAGE: &str = include_str!("page.html");
const PATHS: &str = "/, /metrics, /services.json, /samples.json?service=ID";

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
    let found = if method == "GET" { body_of(path, &lock(state)) } else { None };
    let (status, kind, body) = match found {
        _ if is_foreign => ("403 Forbidden", "text/plain", "use http://127.0.0.1\n".to_owned()),
        Some((kind, body)) => ("200 OK", kind, body),
        None => ("404 Not Found", "text/plain", format!("available: {PATHS}\n")),
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

/// Return the content type and the body of a path.
fn body_of(path: &str, state: &PageState) -> Option<(&'static str, String)> {
    const JSON: &str = "application/json";
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    Some(match path {
        "/" => ("text/html; charset=utf-8", PAGE.to_owned()),
        "/metrics" => ("application/openmetrics-text; version=1.0.0; charset=utf-8", state.metrics()),
        "/services.json" => (JSON, state.services_json()),
        "/samples.json" => {
            let id = query.strip_prefix("service=").and_then(|id| id.parse().ok());
            (JSON, state.samples_json(id)?)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use hindmost_histogram::Histogram;
    use serde_json::{json, Value};

    use super::*;
    use crate::counters::{Values, COUNTERS, UNKNOWN};
    use crate::page::{Page, Status};

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

    /// Serve two services: a sample of the first has all values but one; the second has no sample.
    fn serve_two() -> (PageServer, [Page; 2]) {
        let state = Arc::new(Mutex::new(PageState::default()));
        let pages = ["web \"1\"", "cache"].map(|name| Page::new(Some(Arc::clone(&state)), name));
        let mut values = Values((0..COUNTERS.len() as i64).collect());
        values.0[2] = UNKNOWN;
        pages[0].sample(7, &values);
        pages[0].set_status(Status::Restarted);
        (PageServer::start(0, state).unwrap(), pages)
    }

    #[test]
    fn metrics_are_openmetrics_text_with_a_label_for_each_service() {
        let (server, pages) = serve_two();
        let mut latency = Histogram::new();
        for ns in [90_000, 400_000, 20_000_000_000] {
            latency.record(ns);
        }
        pages[0].latency(&latency);
        let text = get(server.address, "/metrics", "127.0.0.1:9");
        assert!(text.contains("Content-Type: application/openmetrics-text"));
        let lines: Vec<&str> = text.lines().collect();
        let has = |line: &str| assert!(lines.contains(&line), "{line} is not in {text}");
        has("# TYPE hindmost_own_cpu_us counter");
        has(r#"hindmost_own_cpu_us_total{service="web \"1\""} 0"#);
        has("# TYPE hindmost_latency_p99_us gauge");
        has("hindmost_host_user_ticks_total 20");
        has(r#"hindmost_up{service="cache"} 0"#);
        has(r#"hindmost_restarts_total{service="web \"1\""} 1"#);
        has(r#"hindmost_latency_seconds_bucket{service="web \"1\"",le="0.0001"} 1"#);
        has(r#"hindmost_latency_seconds_bucket{service="web \"1\"",le="15"} 2"#);
        has(r#"hindmost_latency_seconds_bucket{service="web \"1\"",le="+Inf"} 3"#);
        has(r#"hindmost_latency_seconds_count{service="web \"1\""} 3"#);
        assert_eq!(lines.last(), Some(&"# EOF"));
        let unknown = format!("hindmost_{}_total{{", COUNTERS[2].name.replace('.', "_"));
        assert!(!text.contains(&unknown), "{text}");
    }

    #[test]
    fn each_service_has_its_samples_until_it_is_removed() {
        let (server, pages) = serve_two();
        let get = |path: &str| get(server.address, path, "localhost");
        let services = get("/services.json");
        let services: Value = serde_json::from_str(services.split_once("\r\n\r\n").unwrap().1).unwrap();
        let names: Vec<_> = services.as_array().unwrap().iter().map(|one| &one["name"]).collect();
        assert_eq!(names, ["cache", "web \"1\""]);
        assert_eq!((&services[0]["runs"], &services[1]["restarts"]), (&json!(false), &json!(1)));
        let samples = |id: &Value| get(&format!("/samples.json?service={id}"));
        assert!(samples(&services[1]["id"]).contains(r#""samples":[[7,[0,1,null,3,"#));
        assert!(samples(&services[0]["id"]).contains(r#""samples":[]"#));
        drop(pages);
        assert!(samples(&services[1]["id"]).starts_with("HTTP/1.1 404"));
        assert!(get("/services.json").ends_with("[]"));
    }

    #[test]
    fn other_hosts_and_paths_are_refused() {
        let (server, _pages) = serve_two();
        assert!(get(server.address, "/samples.json", "evil.example").starts_with("HTTP/1.1 403"));
        assert!(get(server.address, "/nothing", "localhost").starts_with("HTTP/1.1 404"));
    }
}
