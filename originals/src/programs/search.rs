//! Xapian, through the distribution's C++ library: an index on tmpfs with ranked, conjunctive and phrase queries.

use std::path::Path;

use crate::program::{Fault, Program};

#[cfg(not(feature = "search"))]
pub fn make(_: u64, _: &Path) -> Result<Box<dyn Program>, Fault> {
    Err("built without Xapian\nhint: apt-get install libxapian-dev g++; then make originals".into())
}

#[cfg(feature = "search")]
pub use xapian::make;

#[cfg(feature = "search")]
mod xapian {
    use std::ffi::{c_char, CStr, CString};
    use std::os::unix::ffi::OsStrExt as _;

    use rand_pcg::Pcg64;

    use super::{Fault, Path, Program};
    use crate::program::{Outcome, Worker};
    use crate::programs::words::Words;
    use crate::random::{self, below, choose, log_uniform, Purpose};

    const KINDS: &[&str] = &["rank", "all", "phrase"];
    const SHARES: &[f64] = &[0.65, 0.25, 0.10];
    const DOCUMENTS: usize = 6_000;
    const VOCABULARY: usize = 20_000;
    const MOST_TERMS: usize = 4;
    const RESULTS: u32 = 10;

    #[repr(C)]
    struct Handle {
        _private: [u8; 0],
    }

    // xapian.cc: no function throws; a null pointer or a negative number reports an exception, and `fault` its
    // text.
    unsafe extern "C" {
        fn originals_index_open(path: *const c_char) -> *mut Handle;
        fn originals_index_add(index: *mut Handle, text: *const c_char) -> i32;
        fn originals_index_close(index: *mut Handle) -> i32;
        fn originals_reader_open(path: *const c_char) -> *mut Handle;
        fn originals_reader_ask(
            reader: *mut Handle,
            kind: i32,
            terms: *const *const c_char,
            count: u32,
            results: u32,
            digest: *mut u64,
        ) -> i32;
        fn originals_reader_close(reader: *mut Handle);
        fn originals_fault() -> *const c_char;
    }

    struct Search {
        path: CString,
        /// The vocabulary as C strings, and its distribution.
        terms: Vec<CString>,
        words: Words,
        /// Phrases that occur: adjacent words of a document.
        phrases: Vec<Vec<CString>>,
    }

    struct Session<'a> {
        program: &'a Search,
        reader: *mut Handle,
    }

    fn fault() -> Fault {
        // SAFETY: the text lives until the thread makes its next call.
        unsafe { CStr::from_ptr(originals_fault()) }.to_string_lossy().into_owned().into()
    }

    /// Write and index the documents.
    pub fn make(seed: u64, folder: &Path) -> Result<Box<dyn Program>, Fault> {
        let mut random = random::generator_of_purpose(seed, Purpose::Build);
        let words = Words::new(&mut random, VOCABULARY, 1.0);
        let path = CString::new(folder.join("index").as_os_str().as_bytes())?;
        // SAFETY: the path is a C string.
        let index = unsafe { originals_index_open(path.as_ptr()) };
        if index.is_null() {
            return Err(fault());
        }
        let mut phrases = Vec::new();
        for number in 0..DOCUMENTS {
            let mut text = String::new();
            let length = log_uniform(&mut random, 20.0, 300.0) as usize;
            words.write(&mut random, length, &mut text);
            if number % 20 == 0 {
                let found = text.split([' ', '.']).filter(|word| !word.is_empty());
                let found = found.skip(below(&mut random, 15)).take(2 + below(&mut random, 2));
                phrases.push(found.map(CString::new).collect::<Result<_, _>>()?);
            }
            let text = CString::new(text)?;
            // SAFETY: the index is open, and the text is a C string.
            if unsafe { originals_index_add(index, text.as_ptr()) } != 0 {
                return Err(fault());
            }
        }
        // SAFETY: the index is open, and is not used afterwards.
        if unsafe { originals_index_close(index) } != 0 {
            return Err(fault());
        }
        let terms = words.all().map(CString::new).collect::<Result<_, _>>()?;
        Ok(Box::new(Search { path, terms, words, phrases }))
    }

    impl Program for Search {
        fn kinds(&self) -> &'static [&'static str] {
            KINDS
        }

        fn worker(&self) -> Result<Box<dyn Worker + '_>, Fault> {
            // SAFETY: the path is a C string.
            let reader = unsafe { originals_reader_open(self.path.as_ptr()) };
            if reader.is_null() {
                return Err(fault());
            }
            Ok(Box::new(Session { program: self, reader }))
        }
    }

    impl Worker for Session<'_> {
        fn serve(&mut self, random: &mut Pcg64) -> Outcome {
            let program = self.program;
            let kind = choose(random, SHARES);
            let mut terms = [std::ptr::null(); MOST_TERMS];
            let count = if kind == 2 {
                let phrase = &program.phrases[below(random, program.phrases.len())];
                for (place, word) in terms.iter_mut().zip(phrase) {
                    *place = word.as_ptr();
                }
                phrase.len()
            } else {
                let count = 1 + kind + below(random, MOST_TERMS - kind);
                for place in &mut terms[..count] {
                    *place = program.terms[program.words.draw_rank(random)].as_ptr();
                }
                count
            };
            let mut digest = 0;
            // SAFETY: the reader is open and belongs to this thread; `count` terms are strings owned by
            // the program.
            let answer = unsafe {
                originals_reader_ask(
                    self.reader,
                    kind as i32,
                    terms.as_ptr(),
                    count as u32,
                    RESULTS,
                    &raw mut digest,
                )
            };
            assert!(answer == 0, "{}", fault());
            Outcome { kind, digest }
        }
    }

    impl Drop for Session<'_> {
        fn drop(&mut self) {
            // SAFETY: the reader is open, and has no other user.
            unsafe { originals_reader_close(self.reader) };
        }
    }
}
