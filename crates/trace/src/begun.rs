//! A function that a server calls where it begins a request, or a probe that its authors put there, found in its file.

use std::fs;
use std::path::{Path, PathBuf};

use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};

use crate::usdt::{self, Elf};
use crate::TraceError;

/// Before the name of a probe that the program's authors put there: `usdt:PROVIDER:NAME`.
const USDT: &str = "usdt:";

/// Where it begins: places in a file, for uprobes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begun {
    /// The program, or a library of it.
    pub file: PathBuf,
    /// Of a function its first instruction; a probe may stand at several.
    pub places: Vec<Place>,
}

/// In bytes from the beginning of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The instruction.
    pub offset: u64,
    /// A count of those who look, without which the program passes it by.
    pub semaphore: Option<u64>,
}

impl Begun {
    /// Looks the function up among the symbols of an ELF file; one that is stripped still has those that others may
    /// call (`.dynsym`). `usdt:PROVIDER:NAME` is looked up among the file's notes.
    ///
    /// # Errors
    /// Where the file cannot be read, is no program, or has no such function.
    pub fn find(file: &Path, function: &str) -> Result<Self, TraceError> {
        let refuse = |why: String| TraceError::NoFunction { file: file.to_owned(), why };
        let bytes = fs::read(file).map_err(|error| refuse(format!("it cannot be read: {error}")))?;
        let elf = Elf::parse(&*bytes).map_err(|error| refuse(format!("it is no program: {error}")))?;
        let found = match function.strip_prefix(USDT) {
            Some(probe) => probes_of(&elf, probe),
            None => function_of(&elf, function).map(|at| vec![(at, None)]),
        };
        let places = (found.map_err(refuse)?.into_iter())
            .map(|(at, semaphore)| {
                let semaphore = semaphore.map(|at| offset_of(&elf, at)).transpose()?;
                Ok(Place { offset: offset_of(&elf, at)?, semaphore })
            })
            .collect::<Result<_, _>>()
            .map_err(|()| refuse(format!("{function} has no place in it")))?;
        Ok(Self { file: file.to_owned(), places })
    }
}

/// The function's address.
fn function_of(elf: &Elf<'_>, function: &str) -> Result<u64, String> {
    let functions = || {
        let all = elf.symbols().chain(elf.dynamic_symbols());
        all.filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition())
    };
    if let Some(found) = functions().find(|symbol| symbol.name() == Ok(function)) {
        return Ok(found.address());
    }
    let names: Vec<_> = functions().filter_map(|symbol| symbol.name().ok()).collect();
    Err(missing("function", function, names))
}

/// The probe's addresses, each with its semaphore's.
fn probes_of(elf: &Elf<'_>, probe: &str) -> Result<Vec<(u64, Option<u64>)>, String> {
    let (found, others): (Vec<_>, Vec<_>) =
        usdt::places(elf).into_iter().partition(|place| place.name == probe);
    if found.is_empty() {
        let names = others.iter().map(|place| place.name.as_str()).collect();
        return Err(missing("USDT probe", probe, names));
    }
    Ok(found.into_iter().map(|place| (place.at, place.semaphore)).collect())
}

/// Where in the file an address of the program is.
fn offset_of(elf: &Elf<'_>, address: u64) -> Result<u64, ()> {
    let mut segments = elf.segments();
    let inside = segments.find_map(|segment| {
        let (begin, length) = segment.file_range();
        let after = address.checked_sub(segment.address())?;
        (after < length).then_some(begin + after)
    });
    inside.ok_or(())
}

/// Names shown of those that are like it.
const NEAR: usize = 5;

/// That there is none, and what there is.
fn missing(what: &str, wanted: &str, mut names: Vec<&str>) -> String {
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        let why = if what == "function" { ": it is stripped" } else { "" };
        return format!("it has no {what} {wanted}, nor any name of one{why}");
    }
    let parts: Vec<_> = wanted.split(['_', ':']).filter(|part| part.len() > 2).collect();
    let alike = |name: &str| {
        let name = name.to_lowercase();
        parts.iter().filter(|part| name.contains(&part.to_lowercase())).count()
    };
    let mut near: Vec<_> = names.iter().map(|name| (alike(name), *name)).filter(|(n, _)| *n > 0).collect();
    near.sort_by_key(|&(n, name)| (std::cmp::Reverse(n), name.len(), name));
    let near: Vec<_> = near.iter().take(NEAR).map(|(_, name)| *name).collect();
    let like = if near.is_empty() { String::new() } else { format!("; like it are {}", near.join(", ")) };
    format!("it has no {what} {wanted} among {} names{like}", names.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_of_a_program_is_found_and_one_that_is_none_is_told_with_those_like_it() {
        let own = std::env::current_exe().unwrap();
        for (path, function) in [
            (&*own, "no_function_at_all"),
            (&own, "usdt:a:b"),
            (Path::new("/proc/self/status"), "call"),
            (Path::new("/nowhere"), "call"),
        ] {
            let found = Begun::find(path, function);
            assert!(matches!(&found, Err(TraceError::NoFunction { file, .. }) if file == path), "{found:?}");
        }
    }

    #[test]
    fn those_that_share_most_parts_come_first() {
        let names = ["ngx_http_process_request_line", "ngx_http_process_request", "ngx_create_pool", "main"];
        let said = missing("function", "http_process_requests", names.to_vec());
        assert!(said.ends_with(" ngx_http_process_request, ngx_http_process_request_line"), "{said}");
        let names =
            vec!["postgresql:query__start", "postgresql:query__done", "postgresql:query__start", "a:b"];
        let said = missing("USDT probe", "postgresql:query_begin", names);
        assert!(said.ends_with(" postgresql:query__done, postgresql:query__start"), "{said}");
        assert!(missing("USDT probe", "a:b", vec![]).contains("a:b"));
    }
}
