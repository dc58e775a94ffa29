//! Events of a watch: their wording, and those that come from outside the daemon.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

/// Keys of events whose value is a sentence.
const SENTENCES: [&str; 8] = ["clock", "gap", "ended", "started", "restarted", "budget", "slow", "diagnosis"];

/// Describe an event in words.
pub fn describe(event: &Value) -> String {
    let list = |key: &str, row: fn(&Value) -> String| {
        Some(event[key].as_array()?.iter().map(row).collect::<Vec<_>>().join(", "))
    };
    if let Some(threads) = list("threads", describe_thread) {
        return format!("busiest threads: {threads}");
    }
    if let Some(neighbours) = list("neighbours", describe_neighbour) {
        return format!("busy neighbours: {neighbours}");
    }
    let sentence = SENTENCES.iter().find_map(|key| event[key].as_str());
    sentence.map_or_else(|| event.to_string(), str::to_owned)
}

/// Describe `[name, thread id, CPU, microseconds]`.
fn describe_thread(row: &Value) -> String {
    let (name, cpu) = (row[0].as_str().unwrap_or("?"), row[2].as_str().unwrap_or("?"));
    format!("{name} on CPU {cpu} for {:.2} s", row[3].as_f64().unwrap_or(0.0) / 1e6)
}

/// Describe `[name, process id, ticks of 10 ms, cgroup]`.
fn describe_neighbour(row: &Value) -> String {
    let name = row[0].as_str().unwrap_or("?");
    let seconds = row[2].as_f64().unwrap_or(0.0) / 100.0;
    let group = row[3].as_str().filter(|group| !group.is_empty());
    let group = group.map_or_else(String::new, |group| format!(", {group}"));
    format!("{name} (process {}{group}) for {seconds:.2} s", row[1])
}

/// Events that other threads report to a running watch.
#[derive(Clone, Debug, Default)]
pub struct Inbox(Arc<Mutex<Vec<(String, Value)>>>);

impl Inbox {
    /// Report an event of a service.
    pub fn report(&self, service: &str, event: Value) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((service.to_owned(), event));
    }

    pub(crate) fn take(&self) -> Vec<(String, Value)> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_kind_of_event_has_words() {
        let threads = json!({"threads": [["memcached", 7, "1", 800_000], ["a", 8, "0", 20_000]]});
        assert_eq!(
            describe(&threads),
            "busiest threads: memcached on CPU 1 for 0.80 s, a on CPU 0 for 0.02 s"
        );
        let neighbours = json!({"neighbours": [["xz", 20, 450, "batch/one"], ["gzip", 21, 10, ""]]});
        assert_eq!(
            describe(&neighbours),
            "busy neighbours: xz (process 20, batch/one) for 4.50 s, gzip (process 21) for 0.10 s"
        );
        for key in SENTENCES {
            assert_eq!(describe(&json!({key: "it happened", "seconds": 1.0, "pid": 7})), "it happened");
        }
        assert_eq!(describe(&json!({"other": 1})), r#"{"other":1}"#);
    }
}
