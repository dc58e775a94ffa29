//! The opening of a Redis connection: HELLO, AUTH, SELECT (redis.io, "Commands").

use hindmost_plan::Login;

use super::commands::command;
use super::elements::Elements;
use crate::protocol::{quote, Opening, Refusal};

/// The first commands on each connection, and the number of their replies.
pub struct Greeting {
    bytes: Vec<u8>,
    replies: u8,
}

impl Greeting {
    /// Build the greeting for a login.
    pub fn new(login: Option<&Login>) -> Self {
        let mut greeting = Self { bytes: Vec::new(), replies: 0 };
        let Some(login) = login else { return greeting };
        // A password without a user belongs to the user `default`, whom servers before 6.0 do not know by
        // name.
        let credentials: Vec<&str> = login.user.iter().chain(&login.password).map(|word| &**word).collect();
        if let Some(version) = login.protocol.filter(|&version| version != 2) {
            let version = version.to_string();
            let user = login.user.as_deref().unwrap_or("default");
            match login.password.as_deref() {
                Some(password) => greeting.push_command(&["HELLO", &version, "AUTH", user, password]),
                None => greeting.push_command(&["HELLO", &version]),
            }
        } else if login.password.is_some() {
            greeting.push_command(&[&["AUTH"], &credentials[..]].concat());
        }
        if let Some(database) = &login.database {
            greeting.push_command(&["SELECT", database]);
        }
        greeting
    }

    fn push_command(&mut self, words: &[&str]) {
        command(words, &mut self.bytes);
        self.replies += 1;
    }

    /// Start a connection. Return whether the greeting is empty.
    pub fn begin(&self, left: &mut u8, out: &mut Vec<u8>) -> bool {
        *left = self.replies;
        out.extend_from_slice(&self.bytes);
        self.replies == 0
    }

    /// Parse one reply at the start of `bytes`; `left` replies are missing.
    pub fn step(left: &mut u8, bytes: &[u8]) -> Result<Opening, Refusal> {
        let extent = Elements::new(1).consume(bytes, &mut Vec::new());
        let foreign =
            |_| Refusal::Protocol(quote("it does not speak the Redis protocol: it answered", bytes));
        let extent = extent.map_err(foreign)?;
        if !extent.whole {
            return Ok(Opening::More);
        }
        if matches!(bytes[0], b'-' | b'!') {
            return Err(Refusal::Login(quote("it answered", &bytes[1..])));
        }
        *left -= 1;
        Ok(if *left == 0 { Opening::Done(extent.bytes) } else { Opening::Step(extent.bytes) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn greeting_text(login: &Login) -> String {
        String::from_utf8(Greeting::new(Some(login)).bytes).unwrap().replace("\r\n", " ")
    }

    fn login(
        user: Option<&str>,
        password: Option<&str>,
        database: Option<&str>,
        protocol: Option<u8>,
    ) -> Login {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        Login { user: owned(user), password: owned(password), database: owned(database), protocol }
    }

    #[test]
    fn versions_passwords_users_and_databases_are_sent_in_order() {
        for (login, expected) in [
            (login(None, None, None, None), ""),
            (login(None, Some("pw"), None, None), "*2 $4 AUTH $2 pw "),
            (login(Some("ada"), Some("pw"), Some("3"), None), "*3 $4 AUTH $3 ada $2 pw *2 $6 SELECT $1 3 "),
            (login(None, None, None, Some(3)), "*2 $5 HELLO $1 3 "),
            (login(None, Some("pw"), None, Some(3)), "*5 $5 HELLO $1 3 $4 AUTH $7 default $2 pw "),
            (login(None, None, Some("1"), Some(2)), "*2 $6 SELECT $1 1 "),
        ] {
            assert_eq!(greeting_text(&login), expected);
        }
    }

    #[test]
    fn the_last_reply_completes_the_opening_and_the_first_error_refuses_it() {
        let greeting = Greeting::new(Some(&login(None, Some("pw"), Some("3"), Some(3))));
        let (mut left, mut out) = (9, Vec::new());
        assert!(!greeting.begin(&mut left, &mut out));
        let hello = b"%2\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nmodules\r\n*0\r\n";
        for cut in 0..hello.len() {
            assert_eq!(Greeting::step(&mut left, &hello[..cut]), Ok(Opening::More));
        }
        assert_eq!(Greeting::step(&mut left, &[&hello[..], b"+OK"].concat()), Ok(Opening::Step(hello.len())));
        assert_eq!(Greeting::step(&mut left, b"+OK\r\n"), Ok(Opening::Done(5)));
        let refusal = Greeting::step(&mut 1, b"-WRONGPASS invalid username-password pair\r\n").unwrap_err();
        assert!(
            matches!(&refusal, Refusal::Login(greeting_text) if greeting_text.contains("WRONGPASS")),
            "{refusal}"
        );
        assert!(matches!(Greeting::step(&mut 1, b"HTTP/1.1 400\r\n"), Err(Refusal::Protocol(_))));
    }
}
