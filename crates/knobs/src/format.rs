//! Converts values between the kernel's formats and the ones for people.

use hindmost_host::cpulist;

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// One word or number, unchanged.
    Plain,
    /// All choices, with the active one in brackets: `always [madvise] never`.
    Chosen,
    /// 1 means on.
    Flag,
    /// 0 means on: the file disables something.
    Inverted,
    /// A set of CPUs as hexadecimal digits, with commas between words of 32 bits.
    Mask,
    /// A set of CPUs as a list, `0-3,8`.
    Cpus,
}

impl Format {
    /// Convert a file's text to a value.
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

    /// Convert a value to the text of the file.
    pub(crate) fn to_text(self, value: &str) -> String {
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

    /// Whether two values mean the same setting.
    pub(crate) fn same(self, a: &str, b: &str) -> bool {
        match self {
            Self::Mask => mask(a).is_some() && mask(a) == mask(b),
            Self::Cpus => cpulist::parse(a).is_some() && cpulist::parse(a) == cpulist::parse(b),
            Self::Plain => a.split_whitespace().eq(b.split_whitespace()),
            Self::Chosen | Self::Flag | Self::Inverted => a == b,
        }
    }
}

/// Format a set of CPUs; `None` if the format is not one of CPUs.
pub(crate) fn processors(format: Format, cpus: &[u32]) -> Option<String> {
    match format {
        Format::Cpus => Some(cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",")),
        Format::Mask => {
            // 32-bit words, the highest first.
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

/// Whether a text is a valid set of CPUs in this format; other formats accept any text.
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

/// Return all words of a file that lists its choices.
pub(crate) fn choices(text: &str) -> Vec<String> {
    text.split_whitespace().map(|word| word.trim_matches(['[', ']']).to_owned()).collect()
}

/// Return hexadecimal digits without commas and leading zeros; `None` if the text is not hexadecimal.
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
    fn a_value_survives_reading_and_writing() {
        let check = |format: Format, text: &str, value: &str, to_text: &str| {
            assert_eq!(format.read(text), value, "{text}");
            assert_eq!(format.to_text(value), to_text, "{value}");
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
    fn cpus_are_formatted_as_lists_and_as_masks() {
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
