use super::{Evidence, Finding, Mark};
use crate::Nic;

/// Check where packets on the way to the server are stamped.
pub(super) fn stamps(evidence: &Evidence) -> Option<Finding> {
    let nics = &evidence.facts.nics;
    let first = nics.first()?;
    let finding = |mark, why: &str| Finding::new("stamps", "Network stamps", mark, value(nics), why);
    if let Some(idle) = nics.iter().find(|nic| nic.hardware == Some(true) && !nic.stamps_everything()) {
        let why = "the card can stamp packets on the wire but is not set to: wire latency then uses the \
                   kernel's stamps and includes interrupts and the driver's work";
        return Some(finding(Mark::Note, why).hint(format!(
            "sudo hwstamp_ctl -i {0} -t 1 -r 1  (linuxptp; undo with -t 0 -r 0; not while ptp4l runs)",
            idle.name
        )));
    }
    if nics.iter().any(|nic| nic.software == Some(false)) {
        let why = "the driver does not let the kernel stamp outgoing packets: there is no wire \
                   latency, and the client's share cannot be separated from the server's";
        return Some(finding(Mark::Note, why).hint("see `ethtool -T`; a newer driver may stamp"));
    }
    let why = if first.stamps_everything() {
        "wire latency is measured by the card, on the wire"
    } else {
        "wire latency is measured by the kernel, between driver and protocol: it includes interrupts"
    };
    Some(finding(Mark::Fine, why))
}

fn value(nics: &[Nic]) -> String {
    let one = |nic: &Nic| {
        let who = match (nic.hardware, nic.switched_on, nic.software) {
            (Some(true), Some(true), _) => "by the card",
            (Some(true), Some(false), _) => "by the kernel; the card could, but it is off",
            (Some(true), None, _) => {
                "by the kernel; the card could, but its driver does not say whether it does"
            }
            (_, _, Some(true)) => "by the kernel",
            (_, _, Some(false)) => "incoming packets only",
            (_, _, None) => "unknown",
        };
        format!("{}: {who}", nic.name)
    };
    nics.iter().map(one).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::super::tests::check_facts;
    use super::*;
    use crate::HostFacts;

    fn nic(name: &str, software: bool, hardware: bool, switched_on: Option<bool>) -> Nic {
        Nic { name: name.to_owned(), software: Some(software), hardware: Some(hardware), switched_on }
    }

    #[test]
    fn a_card_that_could_stamp_but_does_not_is_a_warning() {
        let check = |nics: Vec<Nic>, mark, value: &str| {
            check_facts(stamps, HostFacts { nics, ..HostFacts::default() }, mark, value)
        };
        check(vec![nic("lo", true, false, None)], Mark::Fine, "lo: by the kernel");
        let on = check(vec![nic("e0", true, true, Some(true))], Mark::Fine, "e0: by the card");
        assert_eq!(on.hint, None);
        let off = "e0: by the kernel; the card could, but it is off";
        let found = check(vec![nic("e0", true, true, Some(false))], Mark::Note, off);
        assert!(found.hint.unwrap().starts_with("sudo hwstamp_ctl -i e0 -t 1 -r 1"));
        let silent = "e0: by the kernel; the card could, but its driver does not say whether it does";
        check(vec![nic("e0", true, true, None)], Mark::Note, silent);
        let none = "v0: by the kernel; e1: incoming packets only";
        check(vec![nic("v0", true, false, None), nic("e1", false, false, None)], Mark::Note, none);
        let unknown = Nic { name: "x".to_owned(), ..Nic::default() };
        check(vec![unknown], Mark::Fine, "x: unknown");
        assert_eq!(stamps(&Evidence::default()), None, "no interface but loopback");
    }
}
