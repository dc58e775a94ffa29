//! How the kernel spells values, and how people do.

use hindmost_host::cpulist;

/// The spelling of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// One word or number, as it is.
    Plain,
    /// All choices, the chosen one in brackets: `always [madvise] never`.
    Chosen,
    /// 1 is on.
    Flag,
    /// 0 is on: the file says what is turned off.
    Inverted,
    /// A set of processors as hexadecimal digits, with commas between words of 32 bits.
    Mask,
    /// A set of processors as a list, `0-3,8`.
    Cpus,
}

impl Format {
    /// What a file's text means.
    pub(crate) fn read(self, text: &str) -> String {
        let flag = |on: &str, off: &str| match text {
            _ if text == on => "on".to_owned(),
            _ if text == off => "off".to_owned(),
            other => other.to_owned(),
        };
        match self {
            Self::Plain | Self::Cpus => text.to_owned(),
            Self::Chosen => chosen(text).unwrap_or(text).to_owned(),
            Self::Flag => flag("1", "0"),
            Self::Inverted => flag("0", "1"),
            Self::Mask => mask(text).unwrap_or_else(|| text.to_owned()),
        }
    }

    /// What is written into the file for a value.
    pub(crate) fn written(self, value: &str) -> String {
        let on = match self {
            Self::Flag => "1",
            Self::Inverted => "0",
            Self::Plain | Self::Chosen | Self::Mask | Self::Cpus => return value.to_owned(),
        };
        match value {
            "on" => on.to_owned(),
            "off" => if on == "1" { "0" } else { "1" }.to_owned(),
            other => other.to_owned(),
        }
    }

    /// Whether two values are the same setting.
    pub(crate) fn same(self, a: &str, b: &str) -> bool {
        match self {
            Self::Mask => mask(a).is_some() && mask(a) == mask(b),
            Self::Cpus => cpulist::parse(a).is_some() && cpulist::parse(a) == cpulist::parse(b),
            Self::Plain => a.split_whitespace().eq(b.split_whitespace()),
            Self::Chosen | Self::Flag | Self::Inverted => a == b,
        }
    }
}

/// Processors as a format has them; `None` where it has none.
pub(crate) fn processors(format: Format, cpus: &[u32]) -> Option<String> {
    match format {
        Format::Cpus => Some(cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",")),
        Format::Mask => {
            // Words of 32 bits, the highest first.
            let words = cpus.iter().max().map_or(1, |most| most / 32 + 1);
            let word = |at: u32| {
                let bits = cpus
                    .iter()
                    .filter(|&&cpu| cpu / 32 == at)
                    .fold(0_u32, |bits, cpu| bits | 1 << (cpu % 32));
                format!("{bits:08x}")
            };
            Some((0..words).rev().map(word).collect::<Vec<_>>().join(","))
        }
        _ => None,
    }
}

/// Whether a text is a set of processors as a format has it; formats of something else take any text.
pub(crate) fn is_set(format: Format, text: &str) -> bool {
    match format {
        Format::Cpus => cpulist::parse(text).is_some_and(|cpus| !cpus.is_empty()),
        Format::Mask => mask(text).is_some(),
        _ => true,
    }
}

fn chosen(text: &str) -> Option<&str> {
    text.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'))
}

/// All words of a file that shows its choices.
pub(crate) fn choices(text: &str) -> Vec<String> {
    text.split_whitespace().map(|word| word.trim_matches(['[', ']']).to_owned()).collect()
}

/// Hexadecimal digits without commas and leading zeros; `None` where the text is something else.
fn mask(text: &str) -> Option<String> {
    let digits: String = text.trim().chars().filter(|&c| c != ',').collect::<String>().to_lowercase();
    let digits = digits.strip_prefix("0x").unwrap_or(&digits);
    let hexadecimal = !digits.is_empty() && digits.chars().all(|c| c.is_ascii_hexdigit());
    let short = digits.trim_start_matches('0');
    hexadecimal.then(|| if short.is_empty() { "0".to_owned() } else { short.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_can_be_written_and_is_the_same() {
        let check = |format: Format, text: &str, value: &str, written: &str| {
            assert_eq!(format.read(text), value, "{text}");
            assert_eq!(format.written(value), written, "{value}");
            assert!(format.same(&format.read(text), value), "{text} {value}");
        };
        check(Format::Plain, "60", "60", "60");
        check(Format::Plain, "4096\t131072\t6291456", "4096\t131072\t6291456", "4096\t131072\t6291456");
        check(Format::Chosen, "always [madvise] never", "madvise", "madvise");
        check(Format::Flag, "1", "on", "1");
        check(Format::Inverted, "1", "off", "1");
        check(Format::Inverted, "0", "on", "0");
        check(Format::Mask, "00000000,00000003", "3", "3");
        check(Format::Mask, "00", "0", "0");
        assert!(Format::Mask.same("0x0F", "f"));
        assert!(!Format::Mask.same("many", "many"));
        check(Format::Cpus, "0-2", "0-2", "0-2");
        assert!(Format::Cpus.same("0-2", "0,1,2"));
        assert!(!Format::Cpus.same("all", "all"));
    }

    #[test]
    fn processors_are_spelled_as_lists_and_as_masks() {
        let check = |cpus: &[u32], list: &str, mask: &str| {
            assert_eq!(processors(Format::Cpus, cpus).as_deref(), Some(list));
            assert_eq!(processors(Format::Mask, cpus).as_deref(), Some(mask));
            assert!(is_set(Format::Mask, mask));
        };
        check(&[0, 1], "0,1", "00000003");
        check(&[2, 33], "2,33", "00000002,00000004");
        assert!(!is_set(Format::Cpus, ""));
        assert!(!is_set(Format::Mask, "both"));
        assert!(is_set(Format::Plain, "both"));
    }
}
