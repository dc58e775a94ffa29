//! What can be set on this host, and how it is put back: the only place that writes to the host.
//!
//! ```text
//!  set:      find the files -> read what is there -> journal it, synced -> write -> read again
//!                                                          \-- wrong? put back, said so
//!  undo:     journal, last first -> write what was found -> read again -> strike the entry out
//! ```
//!
//! A knob is one or several files that take the same value (every processor's governor). What was found stands in
//! the journal before anything is written, so that whoever comes next can undo it, also after a `kill -9`.

mod catalogue;
mod error;
mod find;
mod format;
mod journal;
mod owner;
mod undo;

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use crate::Tree;
use catalogue::Known;
pub use error::KnobError;
use format::Format;
use journal::{Entry, Journal, Place};
pub use owner::Owner;

/// The knobs of one host, with the journal of what was changed.
pub struct Knobs {
    tree: Tree,
    journal: Journal,
}

/// A knob as it stands.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Knob {
    /// What it is called: `thp`, `rps@eth0`.
    pub name: String,
    /// What it does, in a few words.
    pub about: &'static str,
    /// What it is set to; absent where it cannot be set here. Several values where its files differ.
    pub value: Option<String>,
    /// What it may be set to, where that is known.
    pub choices: Vec<String>,
    /// Why it cannot be set here.
    pub missing: Option<String>,
    /// What was found before Hindmost changed it.
    pub found: Option<String>,
    /// Its files, relative to the root.
    pub files: Vec<String>,
}

/// One thing that was put back, or could not be.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Restored {
    /// The knob.
    pub name: String,
    /// What it is again.
    pub value: String,
    /// Why it is not.
    pub failure: Option<String>,
}

/// The files of a knob on this host.
struct FilesOf {
    name: String,
    /// What it is one of several of: an interface, an interrupt.
    device: Option<String>,
    known: &'static Known,
    files: Vec<String>,
}

impl Knobs {
    /// The knobs below `tree`; the journal lies in `folder`, which is made when something is set.
    pub fn new(tree: Tree, folder: &Path) -> Self {
        Self { journal: Journal::new(&tree, folder), tree }
    }

    /// Every knob that is known, those that cannot be set here with the reason.
    ///
    /// # Errors
    /// [`KnobError::Journal`] where the journal cannot be read.
    pub fn list(&self) -> Result<Vec<Knob>, KnobError> {
        let entries = self.journal.entries()?;
        Ok(catalogue::all().flat_map(|known| self.state(known, &entries)).collect())
    }

    /// One knob.
    ///
    /// # Errors
    /// [`KnobError::Unknown`] where there is none of that name.
    pub fn get(&self, name: &str) -> Result<Knob, KnobError> {
        self.list()?.into_iter().find(|knob| knob.name == name).ok_or_else(|| KnobError::Unknown {
            name: name.to_owned(),
            names: self
                .list()
                .map_or_else(|_| Vec::new(), |all| all.into_iter().map(|knob| knob.name).collect()),
        })
    }

    /// Sets a knob, after what was found is in the journal; nothing is left half set. An `owner` puts it back by
    /// [`Knobs::undo`]; without one it stays until [`Knobs::restore`].
    ///
    /// # Errors
    /// [`KnobError`]: no such knob, not to be had here, not a value of it, held by another process, refused by the
    /// kernel, or not what it reads afterwards.
    pub fn set(&self, name: &str, value: &str, owner: Option<Owner>) -> Result<Knob, KnobError> {
        self.check(name, value)?;
        let _held = self.journal.lock()?;
        // What dead owners left must not be taken for what was found.
        self.put_back_all(Entry::abandoned)?;
        let place = self.place(name)?;
        let values = self.meant(&place, value);
        let before: Vec<String> = place.files.iter().map(|file| self.read(place.known, file)).collect();
        let entries = place.files.iter().zip(&before).map(|(file, found)| Entry {
            knob: name.to_owned(),
            place: Place::File(file.clone()),
            found: found.clone(),
            set: value.to_owned(),
            owner,
            boot: self.journal.boot.clone(),
        });
        let entries: Vec<Entry> = entries.collect();
        self.refuse_held(&entries)?;
        let added = self.journal.add(entries)?;
        match self.write_all(&place, &values) {
            Ok(()) => self.get(name),
            Err(failure) => {
                // What was there a moment ago comes back; what was journalled earlier stays journalled, and so does
                // what does not come back.
                let mut back = added;
                for (file, found) in place.files.iter().zip(&before) {
                    if self.set_back(&place, file, found).is_err() {
                        back.retain(|entry| entry.place != Place::File(file.clone()));
                    }
                }
                self.journal.strike(&back)?;
                Err(failure)
            }
        }
    }

    /// Whether a knob could be set to a value, without writing anything.
    ///
    /// # Errors
    /// [`KnobError`]: no such knob, not to be had here, not a value of it.
    pub fn check(&self, name: &str, value: &str) -> Result<(), KnobError> {
        let state = self.get(name)?;
        if let Some(why) = state.missing {
            return Err(KnobError::Missing { name: name.to_owned(), why });
        }
        if !state.choices.is_empty() && !state.choices.iter().any(|choice| choice == value) {
            let (name, value) = (name.to_owned(), value.to_owned());
            return Err(KnobError::Value { name, value, choices: state.choices });
        }
        let place = self.place(name)?;
        if !self.meant(&place, value).iter().all(|value| format::is_set(place.known.format, value)) {
            let written =
                if place.known.format == Format::Mask { "a mask such as 3" } else { "a list such as 0-3" };
            let choices = ["all", "node", "one", written].map(str::to_owned).to_vec();
            return Err(KnobError::Value { name: name.to_owned(), value: value.to_owned(), choices });
        }
        Ok(())
    }

    /// A value as it is written into each file: `all`, `node` and `one` are processors of the device's. Interrupts are
    /// dealt out, one processor after the other: of several in a mask, most machines use one.
    fn meant(&self, place: &FilesOf, value: &str) -> Vec<String> {
        let (format, files) = (place.known.format, place.files.len());
        let as_is = || vec![value.to_owned(); files];
        let Some(cpus) = find::processors(&self.tree, &place.files[0], place.device.as_deref(), value) else {
            return as_is();
        };
        let spelled = |at: usize| match cpus.get(at % cpus.len().max(1)) {
            Some(cpu) if format == Format::Cpus && files > 1 => format::processors(format, &[*cpu]),
            _ => format::processors(format, &cpus),
        };
        (0..files).map(spelled).collect::<Option<_>>().unwrap_or_else(as_is)
    }

    /// Refuses to change what another process will put back.
    fn refuse_held(&self, wanted: &[Entry]) -> Result<(), KnobError> {
        let all = self.journal.entries()?;
        let other = all.iter().find_map(|entry| {
            let asked = wanted.iter().find(|asked| asked.place == entry.place)?;
            entry.owner.filter(|owner| asked.owner != Some(*owner)).map(|owner| (entry, owner))
        });
        other.map_or(Ok(()), |(entry, owner)| {
            Err(KnobError::Held { name: entry.knob.clone(), pid: owner.pid, alive: owner.alive() })
        })
    }

    fn write_all(&self, place: &FilesOf, values: &[String]) -> Result<(), KnobError> {
        for (file, value) in place.files.iter().zip(values) {
            self.write(place.known, file, value)?;
        }
        place.files.iter().zip(values).try_for_each(|(file, value)| self.verify(place, file, value))
    }

    fn write(&self, known: &Known, file: &str, value: &str) -> Result<(), KnobError> {
        let text = known.format.written(value);
        self.tree.write(file, &text).map_err(|source| KnobError::Refused {
            file: file.to_owned(),
            value: value.to_owned(),
            said: source.to_string(),
        })
    }

    fn verify(&self, place: &FilesOf, file: &str, value: &str) -> Result<(), KnobError> {
        let found = self.read(place.known, file);
        if place.known.format.same(&found, value) {
            return Ok(());
        }
        let (name, file, asked) = (place.name.clone(), file.to_owned(), value.to_owned());
        Err(KnobError::Differs { name, file, asked, found })
    }

    fn read(&self, known: &Known, file: &str) -> String {
        known.format.read(&self.tree.text(file).unwrap_or_default())
    }

    fn place(&self, name: &str) -> Result<FilesOf, KnobError> {
        let places = catalogue::all().flat_map(|known| self.places(known));
        places
            .into_iter()
            .find(|place| place.name == name)
            .ok_or_else(|| KnobError::Missing { name: name.to_owned(), why: "its files are gone".to_owned() })
    }

    /// The knobs that a pattern stands for here: one, or one a device.
    fn places(&self, known: &'static Known) -> Vec<FilesOf> {
        let mut places: Vec<FilesOf> = Vec::new();
        for (device, file) in (known.find)(&self.tree, known.pattern) {
            let of = |device: &String| format!("{}@{device}", known.name);
            let name = device.as_ref().map_or_else(|| known.name.to_owned(), of);
            match places.iter_mut().find(|place| place.name == name) {
                Some(place) => place.files.push(file),
                None => places.push(FilesOf { name, device, known, files: vec![file] }),
            }
        }
        places
    }

    fn state(&self, known: &'static Known, entries: &[Entry]) -> Vec<Knob> {
        let places = self.places(known);
        if places.is_empty() {
            let missing = Some(format!("there is no {}: {}", known.pattern, known.absent));
            let name = known.name.to_owned();
            return vec![Knob {
                name,
                about: known.about,
                value: None,
                choices: Vec::new(),
                missing,
                found: None,
                files: Vec::new(),
            }];
        }
        places
            .into_iter()
            .map(|place| {
                let mut values: Vec<String> = place.files.iter().map(|file| self.read(known, file)).collect();
                values.sort();
                values.dedup();
                Knob {
                    about: known.about,
                    value: Some(values.join(", ")),
                    choices: self.choices(known, &place.files[0]),
                    missing: self.tree.fixed(&place.files[0]),
                    found: entries
                        .iter()
                        .find(|entry| entry.knob == place.name)
                        .map(|entry| entry.found.clone()),
                    name: place.name,
                    files: place.files,
                }
            })
            .collect()
    }

    fn choices(&self, known: &Known, file: &str) -> Vec<String> {
        match known.format {
            Format::Chosen => format::choices(&self.tree.text(file).unwrap_or_default()),
            Format::Flag | Format::Inverted => vec!["off".to_owned(), "on".to_owned()],
            Format::Plain | Format::Mask | Format::Cpus => {
                let beside = known.choices.map(|name| match file.rsplit_once('/') {
                    Some((folder, _)) => format!("{folder}/{name}"),
                    None => name.to_owned(),
                });
                let text = beside.and_then(|path| self.tree.text(&path)).unwrap_or_default();
                text.split_whitespace().map(str::to_owned).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests;
