//! What the JSON Schema of a result says beyond its types.

use schemars::Schema;

/// Lets a document lack these fields: results of earlier builds, kept in studies, do not have them.
pub(crate) fn came_later(names: &'static [&'static str]) -> impl FnMut(&mut Schema) {
    move |schema| {
        if let Some(required) = schema.get_mut("required").and_then(|list| list.as_array_mut()) {
            required.retain(|name| !names.iter().any(|later| name == later));
        }
    }
}
