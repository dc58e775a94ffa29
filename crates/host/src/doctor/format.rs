use hindmost_clock::Nanos;

/// Format a fraction of 0 to 1 as a percentage: `0.31 %`, `12 %`.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let places = match percent {
        p if p == 0.0 || p >= 9.95 => 0,
        p if p >= 0.995 => 1,
        _ => 2,
    };
    format!("{percent:.places$} %")
}

/// Format a span in the most readable unit.
pub(super) fn span(nanoseconds: u64) -> String {
    Nanos(nanoseconds).to_string()
}

/// Format a number of CPUs.
pub(super) fn cpus(count: usize) -> String {
    format!("{count} CPU{}", if count == 1 { "" } else { "s" })
}

/// Format bytes in mebibytes or gibibytes.
pub(super) fn memory(bytes: u64) -> String {
    let mebibytes = bytes as f64 / f64::from(1 << 20);
    if mebibytes < 1024.0 {
        format!("{mebibytes:.0} MiB")
    } else {
        format!("{:.1} GiB", mebibytes / 1024.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_keep_two_figures_or_three() {
        for (share, text) in [
            (0.0, "0 %"),
            (0.000_312, "0.03 %"),
            (0.0031, "0.31 %"),
            (0.0999, "10 %"),
            (0.0123, "1.2 %"),
            (0.5, "50 %"),
        ] {
            assert_eq!(percent(share), text);
        }
    }

    #[test]
    fn memory_is_written_in_the_most_readable_unit() {
        assert_eq!(memory(512 << 20), "512 MiB");
        assert_eq!(memory(3 << 30), "3.0 GiB");
    }
}
