"""Codes that every command may use."""

from __future__ import annotations

from hindmost.codes.code import Code

CODES = {
    # Options, arguments, keys
    "unknown-option": Code("The command has no such option.", "Look at the command's `--help`."),
    "renamed-command": Code("The command has another name now.", "Use the new name, which the hint gives."),
    "unknown-command": Code("There is no such command.", "Look at `hindmost --help`."),
    "missing-argument": Code("A required option, argument or key is missing.", "Add it."),
    "unexpected-argument": Code("There is an argument too many, or one is given twice.", "Remove it."),
    "conflicting-options": Code("Two options or keys exclude each other.", "Leave one out."),
    "bad-value": Code(
        "An option, key or argument has a value that it cannot have.", "Use a value that the message allows."
    ),
    "unknown-name": Code(
        "A name is not one of those that exist.", "Use one of the names that the message lists."
    ),
    "unknown-key": Code(
        "A file or an option has a key that is not known.", "Remove the key, or correct its spelling."
    ),
    "duplicate-name": Code("A name or value stands twice where each must differ.", "Rename or remove one."),
    "bad-argument": Code("A Python function got an argument that it cannot accept.", "Correct the call."),
    # Files
    "no-such-file": Code("A file or folder does not exist.", "Check the path."),
    "unreadable-file": Code("A file exists but cannot be read.", "Check its permissions and type."),
    "unwritable-file": Code("A file or folder cannot be written.", "Check permissions and free space."),
    "bad-file": Code(
        "A file's content is not what it should be.", "Correct the file at the place that the message names."
    ),
    "unsupported": Code("What was asked for is not supported here.", "Use what the message names instead."),
    # Servers, as the engine names these problems, too
    "unresolvable": Code("A host name cannot be resolved.", "Check the name: getent hosts NAME."),
    "no-answer": Code(
        "The server did not answer in time.", "See whether it is overloaded, stopped, or at another address."
    ),
    "not-listening": Code(
        "Nothing listens at this address or port.", "Start the server, or correct the address: ss -ltn."
    ),
    "tls-file": Code("A certificate, key or CA file cannot be used.", "Check the file with openssl."),
    "tls-certificate": Code(
        "The server's certificate is not trusted, or holds another name.", "Give `--ca` or `--sni`."
    ),
    "tls-plain": Code("The server does not speak TLS at this port.", "Use the target without TLS."),
    "tls-off": Code("TLS is switched off in the server.", "Switch it on, or use the target without TLS."),
    "tls-version": Code("Client and server share no version of TLS.", "Check the server's TLS settings."),
    "tls-refused": Code(
        "The server ended the TLS handshake or session.", "Give `--cert` and `--key`; see the server's log."
    ),
    "tls": Code("A TLS session failed.", "See the server's log."),
    # Host and programs
    "missing-program": Code(
        "A program that is needed is not installed.", "Install the package that the hint names."
    ),
    "missing-library": Code("An optional Python library is not installed.", "Install it with pip."),
    "needs-root": Code(
        "This needs root, or a capability.", "Run the command with sudo, or grant the capability."
    ),
    "few-processors": Code(
        "There are fewer processors than this needs.", "Use a larger machine or container, or ask for fewer."
    ),
    "no-such-process": Code("There is no process with this number.", "Look it up with `pgrep -a NAME`."),
    "address-in-use": Code(
        "Another program already listens at this address.", "Stop that program, or use another port."
    ),
    "host-lost": Code("A load host was lost during a run.", "Check the host, then resume the study."),
    "test-only": Code("A variable that only the tests of Hindmost may set is set.", "Unset it."),
    "interrupted": Code("A signal or Ctrl-C ended the command.", "Run it again; finished runs are kept."),
}
