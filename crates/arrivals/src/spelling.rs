//! Reading and writing of laws: by name alone, `"exponential"`, or as an object, `{"kind": "gamma", "shape": 2}`.

use std::fmt;

use serde::de::value::{MapAccessDeserializer, MapDeserializer};
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Law;

impl<'de> Deserialize<'de> for Law {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameOrObject;

        impl<'de> Visitor<'de> for NameOrObject {
            type Value = Law;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("the name of an arrival law, or an object with its `kind`")
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<Law, E> {
                Law::deserialize(MapDeserializer::new([("kind", name)].into_iter()))
            }

            fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<Law, A::Error> {
                Law::deserialize(MapAccessDeserializer::new(object))
            }
        }

        deserializer.deserialize_any(NameOrObject)
    }
}

impl Serialize for Law {
    /// Write a law without parameters as its name, which older plans require.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Exponential(_) => serializer.serialize_str("exponential"),
            Self::Deterministic(_) => serializer.serialize_str("deterministic"),
            _ => Self::serialize(self, serializer),
        }
    }
}

/// Add the names of laws without required parameters to the schema of objects.
pub fn or_name(schema: &mut schemars::Schema) {
    let Some(objects) = schema.get_mut("oneOf").and_then(|all| all.as_array_mut()) else { return };
    let name = |one: &serde_json::Value| {
        let required = one["required"].as_array()?;
        (required.len() == 1).then(|| one["properties"]["kind"]["const"].clone())
    };
    let names: Vec<_> = objects.iter().filter_map(name).collect();
    objects.insert(0, serde_json::json!({"type": "string", "enum": names}));
}
