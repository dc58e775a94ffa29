//! Reads and writes a size as a plain number, `200`, or as an object, `{"uniform": [100, 300]}`.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Size;

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberOrObject;

        impl<'de> Visitor<'de> for NumberOrObject {
            type Value = Size;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a whole number, or an object with a law")
            }

            fn visit_u64<E: Error>(self, n: u64) -> Result<Size, E> {
                u32::try_from(n).map(Size::Fixed).map_err(|_| E::custom(format!("{n} is too large a number")))
            }

            fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<Size, A::Error> {
                Size::deserialize(MapAccessDeserializer::new(object))
            }
        }

        deserializer.deserialize_any(NumberOrObject)
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Fixed(n) => serializer.serialize_u32(*n),
            _ => Self::serialize(self, serializer),
        }
    }
}

/// Add plain numbers to the schema of objects.
pub fn or_number(schema: &mut schemars::Schema) {
    let Some(objects) = schema.get_mut("oneOf").and_then(|all| all.as_array_mut()) else { return };
    let number = serde_json::json!({
        "description": "A constant: a plain number.", "type": "integer", "format": "uint32", "minimum": 0
    });
    objects.insert(0, number);
}
