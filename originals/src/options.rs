//! The command line.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use crate::program::{Fault, Make};
use crate::programs::PROGRAMS;

const HELP: &str = "\
originals PROGRAM [FLAGS]                 serves HTTP/1.1: every GET is the next request of the program's mix
originals PROGRAM --integrated [FLAGS]    generates the requests in the process itself

both
  --seed N            which requests come, and when (1)
  --data N            which tables, texts, images they are about (1)
  --threads N         workers behind one first-come-first-served queue (1)
  --cpus 0-3,5        CPUs to use; when serving, also for the thread that reads requests
  --log FILE.csv      arrival_ns,start_ns,end_ns,cpu_ns,thread,kind for each request; written at the end
                      %p in the name stands for the process id; an empty name disables the log
  --no-cpu-time       leave cpu_ns empty: it costs two system calls per request, outside the stamps
  --folder DIR        where a program may keep files; made inside it, removed at the end (/dev/shm)
serving, until SIGTERM or SIGINT
  --address IP:PORT   port 0: a free one (127.0.0.1:0); the first line of standard output says which
  --keep N            requests that the log has room for (1000000; 40 bytes each)
integrated
  --requests N        how many (10000)
  --rate R            requests/s, as a Poisson process on the wall clock; otherwise back to back

";

/// The parsed command line.
pub enum Command {
    /// Print this text.
    Help(String),
    /// Run a program.
    Run(Box<Options>),
}

/// Source of requests.
pub enum Mode {
    /// Sockets.
    Serve { address: SocketAddr, keep: usize },
    /// The process itself.
    Integrated { requests: u64, rate: Option<f64> },
}

/// Settings of a run.
pub struct Options {
    pub name: &'static str,
    pub make: Make,
    /// Seed of the requests: their content, and their arrival times in an integrated run.
    pub seed: u64,
    /// Seed of the data that is built at the start. Another seed gives another server with other service times.
    pub data: u64,
    pub threads: usize,
    pub cpus: Vec<usize>,
    pub log: Option<PathBuf>,
    pub cpu_time: bool,
    pub folder: Option<PathBuf>,
    pub mode: Mode,
}

/// Parse the words after the program's own name.
pub fn parse(words: &[String]) -> Result<Command, Fault> {
    if words.is_empty() || words.iter().any(|word| word == "--help" || word == "-h") {
        return Ok(Command::Help(help()));
    }
    let (mut flags, mut name) = (Flags::default(), None);
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        match word {
            "--integrated" => flags.integrated = true,
            "--no-cpu-time" => flags.no_cpu_time = true,
            flag if flag.starts_with("--") => {
                let place = flags.place(flag).ok_or_else(|| format!("unknown flag {flag}"))?;
                *place = Some(words.next().ok_or_else(|| format!("{flag} needs a value"))?.to_owned());
            }
            word if name.is_none() => name = Some(word),
            word => return Err(format!("unexpected {word:?}: only one program per process").into()),
        }
    }
    let name = name.ok_or("no program is given")?;
    flags.options(name).map(|options| Command::Run(Box::new(options)))
}

fn help() -> String {
    let mut text = String::from(HELP);
    for (name, what, _) in PROGRAMS {
        let _ = writeln!(text, "  {name:<9} {what}");
    }
    text
}

/// Flags as written.
#[derive(Default)]
struct Flags {
    integrated: bool,
    no_cpu_time: bool,
    values: [Option<String>; VALUED.len()],
}

const VALUED: [&str; 10] = [
    "--seed",
    "--data",
    "--threads",
    "--cpus",
    "--log",
    "--folder",
    "--address",
    "--keep",
    "--requests",
    "--rate",
];

const NUMBER: &str = "a number from 0 to 2^64 - 1";

impl Flags {
    fn place(&mut self, flag: &str) -> Option<&mut Option<String>> {
        VALUED.iter().position(|known| *known == flag).map(|index| &mut self.values[index])
    }

    fn text(&self, flag: &str) -> Option<&str> {
        VALUED.iter().position(|known| *known == flag).and_then(|index| self.values[index].as_deref())
    }

    fn value<T: FromStr + Copy>(
        &self,
        flag: &str,
        fits: fn(T) -> bool,
        what: &str,
    ) -> Result<Option<T>, Fault> {
        let Some(text) = self.text(flag) else { return Ok(None) };
        match text.parse().ok().filter(|value| fits(*value)) {
            Some(value) => Ok(Some(value)),
            None => Err(format!("{flag} {text}: must be {what}").into()),
        }
    }

    fn options(&self, name: &str) -> Result<Options, Fault> {
        let known = PROGRAMS.iter().find(|(known, ..)| *known == name);
        let (name, _, make) = *known.ok_or_else(|| {
            let names: Vec<_> = PROGRAMS.iter().map(|(name, ..)| *name).collect();
            format!("there is no program {name:?}; available: {}", names.join(", "))
        })?;
        let useless: &[&str] =
            if self.integrated { &["--address", "--keep"] } else { &["--requests", "--rate"] };
        if let Some(flag) = useless.iter().find(|flag| self.text(flag).is_some()) {
            let only = if self.integrated { "without" } else { "with" };
            return Err(format!("{flag} is only valid {only} --integrated").into());
        }
        let mode = if self.integrated {
            let some = |n: u64| (1..=1 << 31).contains(&n);
            Mode::Integrated {
                requests: self.value("--requests", some, "from 1 to 2147483648")?.unwrap_or(10_000),
                rate: self.value("--rate", |r: f64| r.is_finite() && r > 0.0, "above 0 requests/s")?,
            }
        } else {
            let address = self.value("--address", |_| true, "IP:PORT, such as 127.0.0.1:0")?;
            Mode::Serve {
                address: address.unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 0))),
                keep: self
                    .value("--keep", |n: usize| (1..=1 << 31).contains(&n), "from 1 to 2147483648")?
                    .unwrap_or(1_000_000),
            }
        };
        Ok(Options {
            name,
            make,
            seed: self.value("--seed", |_| true, NUMBER)?.unwrap_or(1),
            data: self.value("--data", |_| true, NUMBER)?.unwrap_or(1),
            threads: self.value("--threads", |n| (1..=1024).contains(&n), "from 1 to 1024")?.unwrap_or(1),
            cpus: self.text("--cpus").map_or(Ok(Vec::new()), cpus)?,
            log: self.text("--log").filter(|name| !name.is_empty()).map(log_file),
            cpu_time: !self.no_cpu_time,
            folder: self.text("--folder").map(PathBuf::from),
            mode,
        })
    }
}

/// `%p` stands for the process id, as in `core(5)`: a restarted server keeps its earlier logs.
fn log_file(name: &str) -> PathBuf {
    PathBuf::from(name.replace("%p", &std::process::id().to_string()))
}

/// Parse the kernel's list format, `cpuset(7)`: `0-3,5`.
fn cpus(text: &str) -> Result<Vec<usize>, Fault> {
    let mut found = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        match (first.parse::<usize>(), last.parse::<usize>()) {
            (Ok(first), Ok(last)) if first <= last && last < libc::CPU_SETSIZE as usize => {
                found.extend(first..=last);
            }
            _ => return Err(format!("--cpus {text}: must be like 0-3,5").into()),
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn a_wrong_flag_is_named() {
        for (line, named) in [
            ("sqlit", "sqlite"),
            ("sqlite --sed 1", "--sed"),
            ("sqlite --seed", "--seed"),
            ("sqlite --seed -1", "--seed -1"),
            ("sqlite --data x", "--data x"),
            ("sqlite --threads 0", "--threads 0"),
            ("sqlite --rate 5", "--integrated"),
            ("sqlite --integrated --keep 5", "--keep"),
            ("sqlite --integrated --rate nan", "--rate nan"),
            ("sqlite --cpus 3-1", "--cpus 3-1"),
            ("sqlite --address localhost", "IP:PORT"),
            ("sqlite image", "image"),
            ("--seed 1", "no program"),
        ] {
            match parse(&words(line)) {
                Err(fault) => assert!(fault.to_string().contains(named), "{line}: {fault}"),
                Ok(_) => panic!("{line} was accepted"),
            }
        }
    }

    #[test]
    fn omitted_options_have_defaults() {
        let Ok(Command::Run(options)) = parse(&words("image --cpus 0-2,5")) else { panic!("refused") };
        assert_eq!((options.seed, options.data, options.threads, options.cpu_time), (1, 1, 1, true));
        assert_eq!(options.cpus, [0, 1, 2, 5]);
        assert!(matches!(options.mode, Mode::Serve { address, .. } if address.to_string() == "127.0.0.1:0"));
    }
}
