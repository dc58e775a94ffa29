//! Lists the settings of this host and their values.

use schemars::JsonSchema;
use serde::Serialize;

use crate::catalogue::{self, CatalogueRow};
use crate::format::{self, Format};
use crate::journal::Entry;
use crate::{write, KnobError, Knobs};

/// A setting and its state.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Knob {
    /// Name: `thp`, `rps@eth0`.
    pub name: String,
    /// What it does, in a few words.
    pub about: &'static str,
    /// Its value; absent if it does not exist here. Several values if its files differ.
    pub value: Option<String>,
    /// Possible values, if known.
    pub choices: Vec<String>,
    /// Why it does not exist here.
    pub missing: Option<String>,
    /// The original value, if Hindmost changed it.
    pub found: Option<String>,
    /// Its files, relative to the root.
    pub files: Vec<String>,
}

/// The files of a setting on this host.
pub(crate) struct KnobFiles {
    pub(crate) name: String,
    /// The device, if there is one setting per device: an interface or an interrupt.
    pub(crate) device: Option<String>,
    pub(crate) known: &'static CatalogueRow,
    pub(crate) files: Vec<String>,
}

impl Knobs {
    /// Return all known settings; those that do not exist here have a reason.
    ///
    /// # Errors
    /// [`KnobError::Journal`] if the journal cannot be read or trusted. If the journal belongs to root, other
    /// users see the settings without original values.
    pub fn list(&self) -> Result<Vec<Knob>, KnobError> {
        let entries = if self.journal.is_hidden() { Vec::new() } else { self.journal.entries()? };
        Ok(catalogue::all().flat_map(|known| self.state(known, &entries)).collect())
    }

    /// Return one setting.
    ///
    /// # Errors
    /// [`KnobError::Unknown`] if there is no setting of that name.
    pub fn get(&self, name: &str) -> Result<Knob, KnobError> {
        self.list()?.into_iter().find(|knob| knob.name == name).ok_or_else(|| KnobError::Unknown {
            name: name.to_owned(),
            names: self
                .list()
                .map_or_else(|_| Vec::new(), |all| all.into_iter().map(|knob| knob.name).collect()),
        })
    }

    /// Return the files of one setting.
    pub(crate) fn files_of(&self, name: &str) -> Result<KnobFiles, KnobError> {
        let places = catalogue::all().flat_map(|known| self.places(known));
        places.into_iter().find(|place| place.name == name).ok_or_else(|| KnobError::Missing {
            name: name.to_owned(),
            why: "its files do not exist any more".to_owned(),
            denied: false,
        })
    }

    /// Return the settings of a catalogue row on this host: one, or one per device.
    fn places(&self, known: &'static CatalogueRow) -> Vec<KnobFiles> {
        let mut places: Vec<KnobFiles> = Vec::new();
        for (device, file) in (known.find)(&self.tree, known.pattern) {
            let of = |device: &String| format!("{}@{device}", known.name);
            let name = device.as_ref().map_or_else(|| known.name.to_owned(), of);
            match places.iter_mut().find(|place| place.name == name) {
                Some(place) => place.files.push(file),
                None => places.push(KnobFiles { name, device, known, files: vec![file] }),
            }
        }
        places
    }

    fn state(&self, known: &'static CatalogueRow, entries: &[Entry]) -> Vec<Knob> {
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
                    missing: write::refusal(&self.tree, &place.files[0]).map(|error| error.to_string()),
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

    fn choices(&self, known: &CatalogueRow, file: &str) -> Vec<String> {
        match known.format {
            Format::Chosen => format::choices(&self.tree.text(file).unwrap_or_default()),
            Format::Flag | Format::Inverted => vec!["off".to_owned(), "on".to_owned()],
            Format::Plain | Format::Mask | Format::Cpus => {
                let sibling = known.choices.map(|name| match file.rsplit_once('/') {
                    Some((folder, _)) => format!("{folder}/{name}"),
                    None => name.to_owned(),
                });
                let text = sibling.and_then(|path| self.tree.text(&path)).unwrap_or_default();
                text.split_whitespace().map(str::to_owned).collect()
            }
        }
    }

    /// Read the value of one file of a setting.
    pub(crate) fn read(&self, known: &CatalogueRow, file: &str) -> String {
        known.format.read(&self.tree.text(file).unwrap_or_default())
    }
}
