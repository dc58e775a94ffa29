use super::{Evidence, Finding, Mark};

/// The usual soft limit is 1024: enough for the default of tens of connections, but too small for a test with
/// thousands, where the limit shows as refused connections.
const FEW_FILES: u64 = 4_096;

/// Suggested limit: one connection for every port.
const MANY_FILES: u64 = 65_536;

/// A closed connection keeps its port for 60 s (`TIME_WAIT`, fixed in Linux), so this many ports allow 160 new
/// connections per second. The default range has 28,232.
const FEW_PORTS: u32 = 10_000;

/// The default is 4096 from Linux 5.4 on, and 128 before. A client that opens more connections than this at once
/// overflows the queue, and the dropped ones are retried after a second (RFC 6298, initial RTO).
const SHORT_QUEUE: u64 = 1_024;

/// Check the limit of open files: one per connection on each side.
pub(super) fn open_files(evidence: &Evidence) -> Option<Finding> {
    let limit = evidence.facts.open_files_limit?;
    let mark = if limit < FEW_FILES { Mark::Note } else { Mark::Fine };
    let why = "a connection takes one descriptor in the client and one in the server, which inherits this \
               limit; a server without free descriptors does not accept connections";
    let finding = Finding::new("open_files", "Open files", mark, limit.to_string(), why);
    let target = evidence.facts.open_files_hard_limit.unwrap_or(MANY_FILES).min(MANY_FILES);
    Some(if target > limit {
        finding.hint(format!("ulimit -n {target}"))
    } else {
        finding.hint(format!("sudo prlimit --pid $$ --nofile={MANY_FILES}"))
    })
}

/// Check the ports for outgoing connections.
pub(super) fn local_ports(evidence: &Evidence) -> Option<Finding> {
    let range = evidence.facts.local_ports?;
    let count = range.count();
    let mark = if count < FEW_PORTS { Mark::Note } else { Mark::Fine };
    let value = format!("{count} ({} to {})", range.first, range.last);
    let why = "a closed connection keeps its port for a minute; a client without free ports cannot connect";
    let finding = Finding::new("local_ports", "Local ports", mark, value, why);
    Some(finding.hint("sudo sysctl -w net.ipv4.ip_local_port_range='16384 60999'"))
}

/// Check the length of accept queues.
pub(super) fn accept_queue(evidence: &Evidence) -> Option<Finding> {
    let longest = evidence.facts.somaxconn?;
    let mark = if longest < SHORT_QUEUE { Mark::Note } else { Mark::Fine };
    let why = "connections that arrive while the server's accept queue is full are dropped and retried \
               after a second";
    let finding = Finding::new("accept_queue", "Accept queue", mark, longest.to_string(), why);
    Some(finding.hint("sudo sysctl -w net.core.somaxconn=4096  (then restart the server)"))
}

#[cfg(test)]
mod tests {
    use super::super::tests::check_facts;
    use super::*;
    use crate::{HostFacts, PortRange};

    #[test]
    fn the_hint_for_open_files_stays_within_the_hard_limit() {
        let check = |soft, hard, mark, hint: Option<&str>| {
            let facts = HostFacts {
                open_files_limit: Some(soft),
                open_files_hard_limit: hard,
                ..HostFacts::default()
            };
            let finding = check_facts(open_files, facts, mark, &soft.to_string());
            assert_eq!(finding.hint.as_deref(), hint);
        };
        check(1_024, None, Mark::Note, Some("ulimit -n 65536"));
        check(1_024, Some(20_000), Mark::Note, Some("ulimit -n 20000"));
        check(1_024, Some(1_024), Mark::Note, Some("sudo prlimit --pid $$ --nofile=65536"));
        check(20_000, Some(20_000), Mark::Fine, None);
        assert_eq!(open_files(&Evidence::default()), None);
    }

    #[test]
    fn few_ports_and_a_short_queue_are_warnings() {
        let with = |first, last, somaxconn| HostFacts {
            local_ports: Some(PortRange { first, last }),
            somaxconn: Some(somaxconn),
            ..HostFacts::default()
        };
        let usual = with(32_768, 60_999, 4_096);
        check_facts(local_ports, usual.clone(), Mark::Fine, "28232 (32768 to 60999)");
        check_facts(accept_queue, usual, Mark::Fine, "4096");
        let narrow = with(40_000, 40_999, 128);
        check_facts(local_ports, narrow.clone(), Mark::Note, "1000 (40000 to 40999)");
        check_facts(accept_queue, narrow, Mark::Note, "128");
    }
}
