//! Get and set requests.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{KeyNames, Popularity, Size};
use crate::error::{refuse, PlanError};

/// memcached's limit for keys in bytes (protocol.txt, "Keys").
pub(super) const MAX_KEY_BYTES: u32 = 250;
/// Thirty days: memcached reads a larger number as a calendar time (protocol.txt, "Expiration times").
const MAX_TTL_S: u32 = 30 * 24 * 3600;

/// A key-value mix. Default: 90 % gets of 200-byte values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct KeyValue {
    /// Number of distinct keys. If `key_names` is given, it sets the number.
    pub keys: u32,
    /// The fraction of gets, 0 to 1; the others are sets.
    pub get_ratio: f64,
    /// Length of a key in bytes, including the prefix (at most 250, memcached's limit). A key keeps its length.
    pub key_bytes: Size,
    /// Prefix of every key.
    pub key_prefix: String,
    /// The keys themselves, instead of numbers of `key_bytes` bytes: a list, or a file with one key per line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_names: Option<KeyNames>,
    /// Length of a value in bytes.
    pub value_bytes: Size,
    /// Seconds after which the server discards a stored value; absent: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_s: Option<Size>,
    /// How often each key is requested.
    pub popularity: Popularity,
    /// Whether every key is stored before the load.
    pub preload: bool,
    /// Whether every key is removed after the load, unless the server is started for a run and stopped with it.
    /// Absent: yes if all keys were stored for the run under generated names (with `preload`, without
    /// `key_names`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clean_up: Option<bool>,
}

impl Default for KeyValue {
    fn default() -> Self {
        Self {
            keys: 10_000,
            get_ratio: 0.9,
            key_bytes: Size::Fixed(30),
            key_prefix: String::new(),
            key_names: None,
            value_bytes: Size::Fixed(200),
            ttl_s: None,
            popularity: Popularity::Uniform,
            preload: true,
            clean_up: None,
        }
    }
}

impl KeyValue {
    pub(super) fn check(&self) -> Result<(), PlanError> {
        if self.keys == 0 || self.keys > 100_000_000 {
            return Err(refuse("workload.keys", self.keys, "between 1 and 100000000"));
        }
        if !(0.0..=1.0).contains(&self.get_ratio) {
            return Err(refuse("workload.get_ratio", self.get_ratio, "between 0 and 1"));
        }
        if let Some(wrong) = KeyNames::cannot_be(&self.key_prefix) {
            return Err(refuse(
                "workload.key_prefix",
                format!("{:?}, which {wrong}", self.key_prefix),
                "printable, without spaces",
            ));
        }
        self.key_bytes.check("workload.key_bytes", (1, MAX_KEY_BYTES), "bytes")?;
        self.value_bytes.check("workload.value_bytes", (0, super::size::MOST), "bytes")?;
        if self.value_bytes.largest() == 0 {
            return Err(refuse(
                "workload.value_bytes",
                0,
                format!("between 1 and {} bytes", super::size::MOST),
            ));
        }
        if let Some(ttl) = &self.ttl_s {
            ttl.check("workload.ttl_s", (1, MAX_TTL_S), "seconds")?;
        }
        match &self.key_names {
            Some(names) => names.check(&self.key_prefix)?,
            None => self.check_numbers()?,
        }
        // The number of names in a file is known when it is read.
        match &self.key_names {
            Some(KeyNames::File { .. }) => Ok(()),
            Some(KeyNames::List(names)) => self.popularity.check(names.len() as u32),
            None => self.popularity.check(self.keys),
        }
    }

    /// Check that the shortest key holds the prefix and a number that identifies the key.
    fn check_numbers(&self) -> Result<(), PlanError> {
        let digits = (self.keys - 1).max(1).ilog10() + 1;
        let needed = digits + self.key_prefix.len() as u32;
        if self.key_bytes.smallest() >= needed {
            return Ok(());
        }
        let prefix = if self.key_prefix.is_empty() { "" } else { " after their prefix" };
        let must = format!("at least {needed} bytes, to tell {} keys apart{prefix}", self.keys);
        Err(refuse("workload.key_bytes", self.key_bytes.smallest(), must))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{json, Value};

    use super::*;

    fn read(fields: &Value) -> Result<KeyValue, PlanError> {
        let mix: KeyValue =
            serde_json::from_value(fields.clone()).map_err(|e| PlanError::Unreadable(e.to_string()))?;
        mix.check().map(|()| mix)
    }

    #[test]
    fn invalid_values_are_refused_by_field() {
        let extreme = |least: u32, most: u32| json!({"scale": 8.2, "location": 30, "shape": 0.1, "least": least, "most": most});
        for (fields, field) in [
            (json!({"key_bytes": {"generalised-extreme-value": extreme(6, 251)}}), "key_bytes"),
            (json!({"key_bytes": {"generalised-extreme-value": extreme(3, 250)}}), "key_bytes"),
            (json!({"key_bytes": {"normal": {"mean": 30, "deviation": 0}}}), "key_bytes.normal.deviation"),
            (
                json!({"value_bytes": {"lognormal": {"median": -1, "sigma": 1}}}),
                "value_bytes.lognormal.median",
            ),
            (json!({"value_bytes": {"normal": {"mean": 1e9, "deviation": 1}}}), "value_bytes"),
            (json!({"value_bytes": {"generalised-pareto": {"scale": 1, "shape": 11}}}), "value_bytes.shape"),
            (json!({"value_bytes": {"mixture": [[1, 0.0], [2, 0.0]]}}), "value_bytes"),
            (json!({"value_bytes": {"discrete": [[1, -1.0], [2, 2.0]]}}), "value_bytes"),
            (json!({"value_bytes": {"mixture": [[{"uniform": [9, 3]}, 1.0]]}}), "value_bytes"),
            (json!({"value_bytes": 0}), "value_bytes"),
            (json!({"ttl_s": 0}), "ttl_s"),
            (json!({"ttl_s": 2_592_001}), "ttl_s"),
            (json!({"key_prefix": "a b"}), "key_prefix"),
            (json!({"key_prefix": "x".repeat(27)}), "key_bytes"),
            (json!({"key_names": ["a", "b", "a"]}), "key_names"),
            (json!({"key_names": ["a", "b c"]}), "key_names"),
            (json!({"key_names": []}), "key_names"),
            (json!({"popularity": {"hot-set": {"keys": 1.0, "requests": 0.5}}}), "popularity.hot-set.keys"),
            (
                json!({"popularity": {"hot-set": {"keys": 0.1, "requests": 1.5}}}),
                "popularity.hot-set.requests",
            ),
            (json!({"popularity": {"weights": [1.0]}}), "popularity.weights"),
            (json!({"keys": 2, "popularity": {"weights": [0.0, 0.0]}}), "popularity.weights"),
            (
                json!({"popularity": {"generalised-pareto": {"scale": -1, "shape": 0}}}),
                "popularity.generalised-pareto.scale",
            ),
        ] {
            let refused = read(&fields).unwrap_err();
            assert_eq!(refused.field_and_value().0, format!("workload.{field}"), "{refused}");
        }
        for (fields, word) in [
            (json!({"value_bytes": {"lognormall": {}}}), "`lognormall`"),
            (json!({"value_bytes": {"lognormal": {"median": 1, "sigma": 1, "mots": 1}}}), "`mots`"),
            (json!({"value_bytes": 4.5}), "4.5"),
        ] {
            let refused = read(&fields).unwrap_err();
            assert!(matches!(&refused, PlanError::Unreadable(said) if said.contains(word)), "{refused}");
        }
    }

    #[test]
    fn every_size_and_popularity_survives_a_round_trip() {
        for size in [
            json!(7),
            json!({"uniform": [1, 9]}),
            json!({"choice": [[10, 0.5], [20, 0.5]]}),
            json!({"normal": {"mean": 20.0, "deviation": 3.0, "least": 1, "most": 50}}),
            json!({"lognormal": {"median": 20.0, "sigma": 0.5, "least": 1, "most": 50}}),
            json!({"generalised-pareto": {"location": 0.0, "scale": 9.5, "shape": 0.5, "least": 1, "most": 50}}),
            json!({"generalised-extreme-value": {"location": 3.5, "scale": 9.5, "shape": 0.5, "least": 1, "most": 50}}),
            json!({"mixture": [[5, 0.5], [{"uniform": [1, 9]}, 0.5]]}),
        ] {
            let mix = read(&json!({"value_bytes": size, "ttl_s": 9})).unwrap();
            assert_eq!(serde_json::to_value(&mix).unwrap()["value_bytes"], size);
        }
        for popularity in [
            json!("uniform"),
            json!("sequential"),
            json!({"zipf": 0.99}),
            json!({"generalised-pareto": {"scale": 500.0, "shape": 0.2}}),
            json!({"hot-set": {"keys": 0.1, "requests": 0.9}}),
        ] {
            let mix = read(&json!({"popularity": popularity})).unwrap();
            assert_eq!(serde_json::to_value(&mix).unwrap()["popularity"], popularity);
        }
    }

    #[test]
    fn keys_of_a_file_are_refused_by_line() {
        let file = std::env::temp_dir().join(format!("hindmost-keys-{}", std::process::id()));
        let open = |text: &str| {
            std::fs::write(&file, text).unwrap();
            let mix = read(&json!({"key_names": {"file": file}, "key_prefix": "p:"})).unwrap();
            crate::Workload::KeyValue(mix).load_files()
        };
        let crate::Workload::KeyValue(mix) = open("one\n\ntwo\n").unwrap() else { unreachable!() };
        assert_eq!(
            (mix.keys, mix.key_names),
            (2, Some(KeyNames::List(vec!["one".to_owned(), "two".into()].into())))
        );
        for (text, lines) in [("one\n\none\n", &[1, 3][..]), ("one\ntw o\n", &[2]), ("\n", &[])] {
            let refused = open(text).unwrap_err();
            let (field, value) = refused.field_and_value();
            assert_eq!(field, "workload.key_names");
            assert!(
                lines.iter().all(|line| value.contains(&format!("line {line} of {}", file.display()))),
                "{value}"
            );
        }
        std::fs::remove_file(&file).unwrap();
        let gone = read(&json!({"key_names": {"file": file}})).unwrap();
        let refused = crate::Workload::KeyValue(gone).load_files().unwrap_err();
        assert!(refused.field_and_value().1.contains(&file.display().to_string()), "{refused}");
    }
}
