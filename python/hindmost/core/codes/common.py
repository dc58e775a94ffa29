"""Codes that every command may use."""

from __future__ import annotations

from hindmost.core.codes.code import Code

CODES = {
    # Options, arguments, keys
    "unknown-option": Code("The command has no such option.", "See the command's `--help`."),
    "renamed-command": Code("The command has a new name.", "Use the name in the hint."),
    "unknown-command": Code("There is no such command.", "See `hindmost --help`."),
    "missing-argument": Code("A required option, argument or key is missing.", "Add it."),
    "unexpected-argument": Code("The command has a surplus or repeated argument.", "Remove it."),
    "conflicting-options": Code("Two options or keys are mutually exclusive.", "Leave out one of them."),
    "bad-value": Code(
        "An option, key or argument has an invalid value.", "Use one of the values in the message."
    ),
    "unknown-name": Code("A name is unknown.", "Use one of the names in the message."),
    "unknown-key": Code(
        "A file or an option contains an unknown key.", "Remove the key, or correct its spelling."
    ),
    "duplicate-name": Code("A name or value that must be unique occurs twice.", "Rename or remove one."),
    "bad-argument": Code("A Python function received an invalid argument.", "Correct the call."),
    # Files
    "no-such-file": Code("A file or folder does not exist.", "Check the path."),
    "unreadable-file": Code("A file exists but cannot be read.", "Check its permissions and type."),
    "unwritable-file": Code("A file or folder cannot be written.", "Check permissions and free space."),
    "bad-file": Code("A file's content is invalid.", "Correct the file at the place in the message."),
    "unsupported": Code(
        "The requested feature is not supported here.", "Use the alternative in the message."
    ),
    # Servers. The engine uses these codes too.
    "unresolvable": Code("A host name cannot be resolved.", "Check the name with `getent hosts NAME`."),
    "no-answer": Code(
        "The server did not answer in time.",
        "Check whether it is overloaded, stopped, or at another address.",
    ),
    "not-listening": Code(
        "Nothing listens at this address or port.",
        "Start the server, or correct the address. `ss -ltn` lists the open ports.",
    ),
    "tls-file": Code("A certificate, key or CA file cannot be used.", "Check the file with `openssl`."),
    "tls-certificate": Code(
        "The server's certificate is not trusted, or is for another name.", "Specify `--ca` or `--sni`."
    ),
    "tls-plain": Code("The server does not use TLS on this port.", "Use the target without TLS."),
    "tls-off": Code("TLS is disabled in the server.", "Enable it, or use the target without TLS."),
    "tls-version": Code(
        "Client and server have no TLS version in common.", "Check the server's TLS settings."
    ),
    "tls-refused": Code(
        "The server ended the TLS handshake or session.",
        "Specify `--cert` and `--key`, and check the server's log.",
    ),
    "tls": Code("A TLS session failed.", "Check the server's log."),
    # Host and programs
    "missing-program": Code("A required program is not installed.", "Install the package in the hint."),
    "missing-library": Code("An optional Python library is not installed.", "Install it with pip."),
    "needs-root": Code(
        "This operation needs root or a capability.", "Run the command with sudo, or grant the capability."
    ),
    "few-processors": Code(
        "The machine or container has too few processors.",
        "Use a larger machine or container, or request fewer processors.",
    ),
    "no-such-process": Code("There is no process with this id.", "Look it up with `pgrep -a NAME`."),
    "address-in-use": Code(
        "Another program already listens at this address.", "Stop that program, or use another port."
    ),
    "host-lost": Code("A load host was lost during a run.", "Check the host, then resume the study."),
    "test-only": Code(
        "An environment variable that is reserved for Hindmost's tests is set.", "Unset the variable."
    ),
    "interrupted": Code("A signal or Ctrl-C ended the command.", "Run it again; finished runs are kept."),
}
