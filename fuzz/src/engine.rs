//! One worker of the load engine, with its real loop, against a server that misbehaves arbitrarily.

/// Check any script of a server.
pub fn any_server(script: &[u8]) {
    hindmost_load::fuzzing::any_server(script);
}
