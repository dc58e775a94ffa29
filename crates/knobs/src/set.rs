//! Changes a setting: journal, write, read back.

use std::io;

use crate::catalogue::CatalogueRow;
use crate::format::{self, Format};
use crate::journal::{Entry, Place};
use crate::list::KnobFiles;
use crate::{find, write, Knob, KnobError, Knobs, Owner};

impl Knobs {
    /// Change a setting after its original value is in the journal; a failure leaves nothing half changed. The
    /// `owner` restores it by [`Knobs::undo`]; without an owner it stays until [`Knobs::restore`].
    ///
    /// # Errors
    /// [`KnobError`]: the setting is unknown or does not exist here, the value is invalid, another process
    /// holds it, the kernel refused it, or it reads back differently.
    pub fn set(&self, name: &str, value: &str, owner: Option<Owner>) -> Result<Knob, KnobError> {
        self.check(name, value)?;
        let _lock = self.journal.lock()?;
        // Restore changes of dead owners first: they must not be taken for original values.
        self.restore_entries(Entry::is_abandoned)?;
        let place = self.files_of(name)?;
        let values = self.values_for(&place, value);
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
                // Restore the values from before this call. Earlier changes stay in the journal, and
                // so do values that cannot be restored.
                let mut back = added;
                for (file, found) in place.files.iter().zip(&before) {
                    if self.restore_file(&place, file, found).is_err() {
                        back.retain(|entry| entry.place != Place::File(file.clone()));
                    }
                }
                self.journal.remove(&back)?;
                Err(failure)
            }
        }
    }

    /// Check whether a setting accepts a value, without writing anything.
    ///
    /// # Errors
    /// [`KnobError`]: the setting is unknown or does not exist here, or the value is invalid.
    pub fn check(&self, name: &str, value: &str) -> Result<(), KnobError> {
        let state = self.get(name)?;
        if let Some(why) = state.missing {
            let refusal = state.files.first().and_then(|file| write::refusal(&self.tree, file));
            let denied = refusal.is_some_and(|error| error.kind() == io::ErrorKind::PermissionDenied);
            return Err(KnobError::Missing { name: name.to_owned(), why, denied });
        }
        if !state.choices.is_empty() && !state.choices.iter().any(|choice| choice == value) {
            let (name, value) = (name.to_owned(), value.to_owned());
            return Err(KnobError::Value { name, value, choices: state.choices });
        }
        let place = self.files_of(name)?;
        if !self.values_for(&place, value).iter().all(|value| format::is_set(place.known.format, value)) {
            let to_text =
                if place.known.format == Format::Mask { "a mask such as 3" } else { "a list such as 0-3" };
            let choices = ["all", "node", "one", to_text].map(str::to_owned).to_vec();
            return Err(KnobError::Value { name: name.to_owned(), value: value.to_owned(), choices });
        }
        Ok(())
    }

    /// Return the value for each file. `all`, `node` and `one` stand for CPUs of the device. Interrupts are
    /// distributed over the CPUs one by one, because most machines use only one CPU of a mask.
    fn values_for(&self, place: &KnobFiles, value: &str) -> Vec<String> {
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

    /// Refuse to change what another process will restore.
    pub(crate) fn refuse_held(&self, wanted: &[Entry]) -> Result<(), KnobError> {
        let all = self.journal.entries()?;
        let other = all.iter().find_map(|entry| {
            let asked = wanted.iter().find(|asked| asked.place == entry.place)?;
            entry.owner.filter(|owner| asked.owner != Some(*owner)).map(|owner| (entry, owner))
        });
        other.map_or(Ok(()), |(entry, owner)| {
            Err(KnobError::Held { name: entry.knob.clone(), pid: owner.pid, alive: owner.is_alive() })
        })
    }

    fn write_all(&self, place: &KnobFiles, values: &[String]) -> Result<(), KnobError> {
        for (file, value) in place.files.iter().zip(values) {
            self.write(place.known, file, value)?;
        }
        place.files.iter().zip(values).try_for_each(|(file, value)| self.verify(place, file, value))
    }

    pub(crate) fn write(&self, known: &CatalogueRow, file: &str, value: &str) -> Result<(), KnobError> {
        let text = known.format.to_text(value);
        write::file(&self.tree, file, &text).map_err(|source| KnobError::Refused {
            file: file.to_owned(),
            value: value.to_owned(),
            said: source.to_string(),
        })
    }

    pub(crate) fn verify(&self, place: &KnobFiles, file: &str, value: &str) -> Result<(), KnobError> {
        let found = self.read(place.known, file);
        if place.known.format.same(&found, value) {
            return Ok(());
        }
        let (name, file, asked) = (place.name.clone(), file.to_owned(), value.to_owned());
        Err(KnobError::Differs { name, file, asked, found })
    }
}
