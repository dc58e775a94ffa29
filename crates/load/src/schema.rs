//! Adjustments to the JSON Schema of a result.

use schemars::Schema;

/// Make these fields optional: results of earlier builds, stored in studies, lack them.
pub(crate) fn came_later(names: &'static [&'static str]) -> impl FnMut(&mut Schema) {
    move |schema| {
        if let Some(required) = schema.get_mut("required").and_then(|list| list.as_array_mut()) {
            required.retain(|name| !names.iter().any(|later| name == later));
        }
    }
}
