//! Names of the functions on sampled stacks: the mappings of a process, the files behind them, and the kernel.

use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use hindmost_sys::file::{read_kernel, read_regular};
use object::Object;
use serde::Serialize;

use super::functions::Functions;
use super::sampler::Stack;
use crate::usdt::Elf;

/// Module of kernel functions.
pub const KERNEL: &str = "kernel";
/// Module of code without a file, such as that of a just-in-time compiler.
const NO_FILE: &str = "no file";
/// The kernel's library in each program: functions such as `clock_gettime`.
const VDSO: &str = "[vdso]";
/// Name of a function that no table contains.
const UNKNOWN: &str = "unknown";

/// A function and the program, library or kernel that contains it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[expect(clippy::struct_field_names, reason = "`function` is its key in documents")]
pub struct Function {
    pub function: String,
    pub module: String,
    /// The system call in which it waits.
    pub call: Option<String>,
}

/// An executable mapping of a process, from `/proc/PID/maps`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mapping {
    from: u64,
    to: u64,
    offset: u64,
    /// Device, inode and path.
    file: String,
}

/// Names functions of processes, whose mappings are read while they run.
#[derive(Default)]
pub struct Symbols {
    mappings: HashMap<u32, Vec<Mapping>>,
    /// By device, inode and path.
    modules: HashMap<String, Functions>,
    kernel: Option<Functions>,
}

impl Symbols {
    /// Remember the mappings of a process: it may end before its stacks are named.
    pub fn remember(&mut self, process: u32) {
        self.mappings.entry(process).or_insert_with(|| mappings_of(process));
    }

    /// Read the mappings again: libraries may have been loaded later.
    pub fn refresh(&mut self) {
        for (process, known) in &mut self.mappings {
            let now = mappings_of(*process);
            if !now.is_empty() {
                *known = now;
            }
        }
    }

    /// Return the functions of a stack, the executed one first.
    pub fn functions(&mut self, process: u32, stack: &Stack) -> Vec<Function> {
        let frames =
            stack.kernel.iter().map(|at| (true, *at)).chain(stack.user.iter().map(|at| (false, *at)));
        let frames = frames.enumerate().map(|(place, (in_kernel, at))| {
            // A return address may lie after the function if the call was its last instruction.
            let is_interrupted = place == 0 || place == stack.kernel.len();
            (in_kernel, if is_interrupted { at } else { at.saturating_sub(1) })
        });
        let all: Vec<_> = frames.collect();
        all.into_iter()
            .map(|(k, at)| if k { self.of_kernel(at) } else { self.of_program(process, at) })
            .collect()
    }

    fn of_kernel(&mut self, at: u64) -> Function {
        let kernel = self
            .kernel
            .get_or_insert_with(|| Functions::of_kernel(&read_kernel("/proc/kallsyms").unwrap_or_default()));
        named(kernel.name(at), KERNEL)
    }

    fn of_program(&mut self, process: u32, at: u64) -> Function {
        let mappings = self.mappings.get(&process).map_or(&[][..], Vec::as_slice);
        let Some(mapping) = mappings.iter().find(|one| (one.from..one.to).contains(&at)) else {
            return named(None, NO_FILE);
        };
        let path = mapping.path();
        let name = Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or(NO_FILE);
        let read = || if path == VDSO { vdso() } else { read_regular(&as_seen_by(process, path)).ok() };
        let functions = self.modules.entry(mapping.file.clone());
        let functions =
            functions.or_insert_with(|| read().and_then(|bytes| functions_of(&bytes)).unwrap_or_default());
        named(functions.name_at_offset(at - mapping.from + mapping.offset), name)
    }
}

fn functions_of(bytes: &[u8]) -> Option<Functions> {
    let elf = Elf::parse(bytes).ok()?;
    let debug = debug_file(&elf).and_then(|path| read_regular(&path).ok());
    let debug = debug.as_ref().and_then(|bytes| Elf::parse(&**bytes).ok());
    Some(Functions::of_file(&elf, debug.as_ref()))
}

/// Return the kernel's library, which is in no file; all programs of this machine have the same.
fn vdso() -> Option<Vec<u8>> {
    let mapping = mappings_of(std::process::id()).into_iter().find(|one| one.path() == VDSO)?;
    let mut bytes = vec![0; (mapping.to - mapping.from) as usize];
    File::open("/proc/self/mem").ok()?.read_exact_at(&mut bytes, mapping.from).ok()?;
    Some(bytes)
}

/// Return the file in which distributions keep the symbols of a stripped file.
fn debug_file(elf: &Elf<'_>) -> Option<PathBuf> {
    let id = elf.build_id().ok()??;
    let digits: Vec<_> = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let (first, rest) = digits.split_first()?;
    Some(format!("/usr/lib/debug/.build-id/{first}/{}.debug", rest.concat()).into())
}

/// Return a path in the root folder of a process; the path itself once the process has ended.
fn as_seen_by(process: u32, path: &str) -> PathBuf {
    let inside = PathBuf::from(format!("/proc/{process}/root{path}"));
    match fs::read_link(format!("/proc/{process}/root")) {
        Ok(root) if root != Path::new("/") => inside,
        _ if Path::new(path).exists() => path.into(),
        _ => inside,
    }
}

/// Describe a function. One whose name was stripped is called by module and address: `memcached+0x8a40`.
fn named(function: Option<String>, module: &str) -> Function {
    let function = match function {
        Some(address) if address.starts_with('+') => format!("{module}{address}"),
        Some(name) => name,
        None => UNKNOWN.to_owned(),
    };
    Function { function, module: module.to_owned(), call: None }
}

fn mappings_of(process: u32) -> Vec<Mapping> {
    let text = read_kernel(format!("/proc/{process}/maps")).unwrap_or_default();
    text.lines().filter_map(parse_mapping).collect()
}

impl Mapping {
    fn path(&self) -> &str {
        self.file.splitn(3, ' ').nth(2).unwrap_or_default().trim_start()
    }
}

/// Parse `55d0c0000000-55d0c0010000 r-xp 00010000 fe:00 1234    /usr/bin/redis-server`.
fn parse_mapping(line: &str) -> Option<Mapping> {
    let mut words = line.splitn(6, ' ');
    let (from, to) = words.next()?.split_once('-')?;
    words.next()?.contains('x').then_some(())?;
    let hexadecimal = |text: &str| u64::from_str_radix(text, 16).ok();
    let offset = hexadecimal(words.next()?)?;
    let file = words.collect::<Vec<_>>().join(" ");
    Some(Mapping { from: hexadecimal(from)?, to: hexadecimal(to)?, offset, file })
}

#[cfg(test)]
mod tests {
    use object::ObjectSymbol;

    use super::*;

    #[test]
    fn mappings_with_code_are_read() {
        let line = "55d0c0000000-55d0c0010000 r-xp 00001000 fe:00 1234                  /opt/a b/server";
        let mapping = parse_mapping(line).unwrap();
        assert_eq!((mapping.from, mapping.to, mapping.offset), (0x55d0_c000_0000, 0x55d0_c001_0000, 0x1000));
        assert_eq!(mapping.path(), "/opt/a b/server");
        assert_eq!(parse_mapping(&line.replace("r-xp", "rw-p")), None);
        assert_eq!(parse_mapping("7f00-7f10 r-xp 00000000 00:00 0").unwrap().path(), "");
    }

    #[test]
    fn a_function_of_the_kernels_library_is_named() {
        let process = std::process::id();
        let mapping = mappings_of(process).into_iter().find(|one| one.path() == VDSO).unwrap();
        let bytes = vdso().unwrap();
        let elf = Elf::parse(&*bytes).unwrap();
        let mut all = elf.dynamic_symbols();
        let clock = all.find(|one| one.name() == Ok("__vdso_clock_gettime")).unwrap();
        let mut symbols = Symbols::default();
        symbols.remember(process);
        let stack = Stack { kernel: vec![], user: vec![mapping.from + clock.address() + 1] };
        let [function] = &symbols.functions(process, &stack)[..] else { panic!("one frame") };
        assert!(function.function.ends_with("clock_gettime"), "{function:?}");
        assert_eq!(function.module, VDSO);
    }

    #[inline(never)]
    fn own_function() -> u64 {
        std::hint::black_box(own_function as *const () as u64)
    }

    #[test]
    fn a_function_of_this_program_is_named() {
        let process = std::process::id();
        let mut symbols = Symbols::default();
        symbols.remember(process);
        let stack = Stack { kernel: vec![], user: vec![own_function() + 1, 1] };
        let [own, nowhere] = &symbols.functions(process, &stack)[..] else { panic!("two frames") };
        assert!(own.function.contains("own_function"), "{own:?}");
        let program = std::env::current_exe().unwrap();
        assert_eq!(Some(own.module.as_str()), program.file_name().unwrap().to_str());
        assert_eq!((nowhere.function.as_str(), nowhere.module.as_str()), (UNKNOWN, NO_FILE));
    }
}
