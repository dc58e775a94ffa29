//! A function that a server calls where it begins a request, found in its file.

use std::fs;
use std::path::{Path, PathBuf};

use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};

use crate::TraceError;

/// Where it begins: a place in a file, for a uprobe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begun {
    /// The program, or a library of it.
    pub file: PathBuf,
    /// Of the function's first instruction, in bytes.
    pub offset: u64,
}

impl Begun {
    /// Looks the function up among the symbols of an ELF file; one that is stripped still has those that others may
    /// call (`.dynsym`).
    ///
    /// # Errors
    /// Where the file cannot be read, is no program, or has no such function.
    pub fn find(file: &Path, function: &str) -> Result<Self, TraceError> {
        let refuse = |why: String| TraceError::NoFunction { file: file.to_owned(), why };
        let bytes = fs::read(file).map_err(|error| refuse(format!("it cannot be read: {error}")))?;
        let elf =
            object::File::parse(&*bytes).map_err(|error| refuse(format!("it is no program: {error}")))?;
        let functions = || {
            let all = elf.symbols().chain(elf.dynamic_symbols());
            all.filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition())
        };
        let Some(found) = functions().find(|symbol| symbol.name() == Ok(function)) else {
            let mut names: Vec<_> = functions().filter_map(|symbol| symbol.name().ok()).collect();
            names.sort_unstable();
            names.dedup();
            return Err(refuse(missing(function, &names)));
        };
        let offset = (found.section_index())
            .and_then(|at| elf.section_by_index(at).ok())
            .and_then(|section| {
                let (begin, _) = section.file_range()?;
                Some(found.address() - section.address() + begin)
            })
            .ok_or_else(|| refuse(format!("{function} has no place in it")))?;
        Ok(Self { file: file.to_owned(), offset })
    }
}

/// Names shown of those that are like it.
const NEAR: usize = 5;

/// That there is none, and what there is.
fn missing(function: &str, names: &[&str]) -> String {
    if names.is_empty() {
        return format!("it has no function {function}, nor any name of one: it is stripped");
    }
    let parts: Vec<_> = function.split('_').filter(|part| part.len() > 2).collect();
    let alike = |name: &str| {
        let name = name.to_lowercase();
        parts.iter().filter(|part| name.contains(&part.to_lowercase())).count()
    };
    let mut near: Vec<_> = names.iter().map(|name| (alike(name), *name)).filter(|(n, _)| *n > 0).collect();
    near.sort_by_key(|&(n, name)| (std::cmp::Reverse(n), name.len(), name));
    let near: Vec<_> = near.iter().take(NEAR).map(|(_, name)| *name).collect();
    let like = if near.is_empty() { String::new() } else { format!("; like it are {}", near.join(", ")) };
    format!("it has no function {function} among {} names{like}", names.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_of_a_program_is_found_and_one_that_is_none_is_told_with_those_like_it() {
        let own = std::env::current_exe().unwrap();
        let why = Begun::find(&own, "no_function_at_all").unwrap_err().to_string();
        assert!(why.contains("it has no function no_function_at_all"), "{why}");
        let why = Begun::find(Path::new("/proc/self/status"), "call").unwrap_err().to_string();
        assert!(why.contains("it is no program"), "{why}");
        let why = Begun::find(Path::new("/nowhere"), "call").unwrap_err().to_string();
        assert!(why.contains("it cannot be read"), "{why}");
    }

    #[test]
    fn those_that_share_most_parts_come_first() {
        let names = ["ngx_http_process_request_line", "ngx_http_process_request", "ngx_create_pool", "main"];
        let said = missing("http_process_requests", &names);
        assert!(
            said.ends_with("like it are ngx_http_process_request, ngx_http_process_request_line"),
            "{said}"
        );
        assert!(missing("f", &[]).ends_with("it is stripped"));
    }
}
