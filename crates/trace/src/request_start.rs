//! The function that a server calls to start a request, or a USDT probe there, found in its ELF file.

use std::fs;
use std::path::{Path, PathBuf};

use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};

use crate::usdt::{self, Elf};
use crate::TraceError;

/// Prefix of a USDT probe: `usdt:PROVIDER:NAME`.
const USDT: &str = "usdt:";

/// Places in a file where a request starts, for uprobes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestStart {
    /// The program or one of its libraries.
    pub file: PathBuf,
    /// The first instruction of a function, or the locations of a USDT probe.
    pub sites: Vec<ProbeSite>,
}

/// A location for a uprobe, in bytes from the start of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeSite {
    /// Offset of the instruction.
    pub offset: u64,
    /// Offset of the counter of tracers; the program skips the probe while it is 0.
    pub semaphore: Option<u64>,
}

impl RequestStart {
    /// Find a function by the symbols of an ELF file; a stripped file still has its exported symbols (`.dynsym`). Find
    /// `usdt:PROVIDER:NAME` by the file's notes.
    ///
    /// # Errors
    /// If the file cannot be read, is not a program, or has no such function.
    pub fn find(file: &Path, function: &str) -> Result<Self, TraceError> {
        let refuse = |reason: String| TraceError::NoFunction { file: file.to_owned(), reason };
        let bytes = fs::read(file).map_err(|error| refuse(format!("cannot read it: {error}")))?;
        let elf = Elf::parse(&*bytes).map_err(|error| refuse(format!("it is not a program: {error}")))?;
        let found = match function.strip_prefix(USDT) {
            Some(probe) => probe_addresses(&elf, probe),
            None => function_address(&elf, function).map(|at| vec![(at, None)]),
        };
        let sites = (found.map_err(refuse)?.into_iter())
            .map(|(at, semaphore)| {
                let semaphore = semaphore.map(|at| file_offset(&elf, at)).transpose()?;
                Ok(ProbeSite { offset: file_offset(&elf, at)?, semaphore })
            })
            .collect::<Result<_, _>>()
            .map_err(|()| refuse(format!("the file does not contain the code of {function}")))?;
        Ok(Self { file: file.to_owned(), sites })
    }
}

/// Return the function's address.
fn function_address(elf: &Elf<'_>, function: &str) -> Result<u64, String> {
    let functions = || {
        let all = elf.symbols().chain(elf.dynamic_symbols());
        all.filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition())
    };
    if let Some(found) = functions().find(|symbol| symbol.name() == Ok(function)) {
        return Ok(found.address());
    }
    let names: Vec<_> = functions().filter_map(|symbol| symbol.name().ok()).collect();
    Err(describe_missing("function", function, names))
}

/// Return the probe's addresses, each with the address of its semaphore.
fn probe_addresses(elf: &Elf<'_>, probe: &str) -> Result<Vec<(u64, Option<u64>)>, String> {
    let (found, others): (Vec<_>, Vec<_>) =
        usdt::locations(elf).into_iter().partition(|location| location.name == probe);
    if found.is_empty() {
        let names = others.iter().map(|location| location.name.as_str()).collect();
        return Err(describe_missing("USDT probe", probe, names));
    }
    Ok(found.into_iter().map(|location| (location.at, location.semaphore)).collect())
}

/// Return the file offset of an address.
fn file_offset(elf: &Elf<'_>, address: u64) -> Result<u64, ()> {
    let mut segments = elf.segments();
    let inside = segments.find_map(|segment| {
        let (begin, length) = segment.file_range();
        let after = address.checked_sub(segment.address())?;
        (after < length).then_some(begin + after)
    });
    inside.ok_or(())
}

/// Number of similar names in a message.
const SIMILAR_NAMES: usize = 5;

/// Describe a missing name, with similar existing ones.
fn describe_missing(what: &str, wanted: &str, mut names: Vec<&str>) -> String {
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        let reason = if what == "function" { ": it is stripped" } else { "" };
        return format!("it has no {what} {wanted}, and no {what} names at all{reason}");
    }
    let parts: Vec<_> = wanted.split(['_', ':']).filter(|part| part.len() > 2).collect();
    let shared_parts = |name: &str| {
        let name = name.to_lowercase();
        parts.iter().filter(|part| name.contains(&part.to_lowercase())).count()
    };
    let mut similar: Vec<_> =
        names.iter().map(|name| (shared_parts(name), *name)).filter(|(n, _)| *n > 0).collect();
    similar.sort_by_key(|&(n, name)| (std::cmp::Reverse(n), name.len(), name));
    let similar: Vec<_> = similar.iter().take(SIMILAR_NAMES).map(|(_, name)| *name).collect();
    let hint = if similar.is_empty() { String::new() } else { format!("; similar: {}", similar.join(", ")) };
    format!("it has no {what} {wanted} among {} names{hint}", names.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_function_or_file_is_refused() {
        let own = std::env::current_exe().unwrap();
        for (path, function) in [
            (&*own, "no_function_at_all"),
            (&own, "usdt:a:b"),
            (Path::new("/proc/self/status"), "call"),
            (Path::new("/nowhere"), "call"),
        ] {
            let found = RequestStart::find(path, function);
            assert!(matches!(&found, Err(TraceError::NoFunction { file, .. }) if file == path), "{found:?}");
        }
    }

    #[test]
    fn similar_names_with_most_common_parts_come_first() {
        let names = ["ngx_http_process_request_line", "ngx_http_process_request", "ngx_create_pool", "main"];
        let message = describe_missing("function", "http_process_requests", names.to_vec());
        assert!(message.ends_with(" ngx_http_process_request, ngx_http_process_request_line"), "{message}");
        let names =
            vec!["postgresql:query__start", "postgresql:query__done", "postgresql:query__start", "a:b"];
        let message = describe_missing("USDT probe", "postgresql:query_begin", names);
        assert!(message.ends_with(" postgresql:query__done, postgresql:query__start"), "{message}");
        assert!(describe_missing("USDT probe", "a:b", vec![]).contains("a:b"));
    }
}
