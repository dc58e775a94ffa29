//! The client's side of SCRAM-SHA-256 (RFC 5802, RFC 7677) without channel binding. PostgreSQL takes the user
//! from the start-up message and ignores the user name in the exchange.

use std::num::NonZeroU32;

use base64::engine::general_purpose::STANDARD;
use base64::Engine;
use ring::{digest, hmac, pbkdf2};

/// The mechanism's name in the protocol.
pub const MECHANISM: &str = "SCRAM-SHA-256";
/// `n,,` in base64: no channel binding, no other identity.
const BINDING: &str = "biws";
/// Limit on iterations, above what any server requires. Each costs about 100 ns per connection.
const MOST_ITERATIONS: u32 = 10_000_000;

/// An exchange with a server.
pub struct Scram {
    password: Vec<u8>,
    nonce: String,
    /// The proof that the server must send, once the client has sent its own.
    server: Option<Vec<u8>>,
}

impl Scram {
    /// Start an exchange for `password`. A non-ASCII password is not normalised; SASLprep would rarely change
    /// it.
    pub fn new(password: &[u8], nonce: &[u8]) -> Self {
        Self { password: password.to_vec(), nonce: STANDARD.encode(nonce), server: None }
    }

    /// Return the client's first message.
    pub fn first_message(&self) -> String {
        format!("n,,{}", self.bare())
    }

    fn bare(&self) -> String {
        format!("n=,r={}", self.nonce)
    }

    /// Return the client's answer to the server's challenge.
    pub fn answer_challenge(&mut self, challenge: &[u8]) -> Result<String, &'static str> {
        let text = std::str::from_utf8(challenge).map_err(|_| "its challenge is not UTF-8")?;
        let field = |name: &str| text.split(',').find_map(|field| field.strip_prefix(name));
        let nonce =
            field("r=").filter(|nonce| nonce.starts_with(&self.nonce) && nonce.len() > self.nonce.len());
        let nonce = nonce.ok_or("its challenge has another client's nonce")?;
        let salt =
            field("s=").and_then(|salt| STANDARD.decode(salt).ok()).ok_or("its challenge has no salt")?;
        let rounds =
            field("i=").and_then(|rounds| rounds.parse::<u32>().ok()).filter(|&n| n <= MOST_ITERATIONS);
        let rounds = rounds.and_then(NonZeroU32::new).ok_or("its challenge has no number of iterations")?;
        let mut salted = [0; digest::SHA256_OUTPUT_LEN];
        pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, rounds, &salt, &self.password, &mut salted);
        let client = sign(&salted, b"Client Key");
        let stored = digest::digest(&digest::SHA256, &client);
        let without_proof = format!("c={BINDING},r={nonce}");
        let auth_message = format!("{},{text},{without_proof}", self.bare());
        let signature = sign(stored.as_ref(), auth_message.as_bytes());
        let proof: Vec<u8> = client.iter().zip(&signature).map(|(one, other)| one ^ other).collect();
        self.server = Some(sign(&sign(&salted, b"Server Key"), auth_message.as_bytes()));
        Ok(format!("{without_proof},p={}", STANDARD.encode(proof)))
    }

    /// Check the server's proof that it knows the password.
    pub fn verify_server(&self, last: &[u8]) -> Result<(), &'static str> {
        let proved = last.strip_prefix(b"v=").and_then(|proof| STANDARD.decode(proof).ok());
        match (proved, &self.server) {
            (Some(proof), Some(server)) if proof == *server => Ok(()),
            _ => Err("the server does not know the password"),
        }
    }
}

fn sign(key: &[u8], bytes: &[u8]) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), bytes).as_ref().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exchange of RFC 7677, section 3, except for the user name, which PostgreSQL knows already. The
    /// proofs were computed with Python's hashlib and hmac, which reproduce the RFC's proofs with the user
    /// name.
    #[test]
    fn an_exchange_has_the_expected_proofs() {
        let nonce = STANDARD.decode("rOprNGfwEbeRWgbNEkqO").unwrap();
        let mut client = Scram::new(b"pencil", &nonce);
        assert_eq!(client.first_message(), "n,,n=,r=rOprNGfwEbeRWgbNEkqO");
        let challenge =
            "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
        assert_eq!(
            client.answer_challenge(challenge.as_bytes()).unwrap(),
            "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
             p=qvT2SWdEH5Q06albL+hjSYuUhCG7VndFyzIb7CK4n9k="
        );
        assert_eq!(client.verify_server(b"v=3HO6Qt1M4MKJrmlKaoOqLAI0/0TV0HZe7J9H3MBtSOg="), Ok(()));
        assert!(client.verify_server(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=").is_err());
    }

    #[test]
    fn challenges_for_another_client_are_refused() {
        for (challenge, reason) in [
            ("r=other,s=AAAA,i=4096", "another client"),
            ("r=AAAAx,i=4096", "no salt"),
            ("r=AAAAx,s=AAAA,i=0", "iterations"),
            ("r=AAAAx,s=AAAA", "iterations"),
        ] {
            let mut client = Scram::new(b"pencil", &[0; 3]);
            assert!(
                client.answer_challenge(challenge.as_bytes()).unwrap_err().contains(reason),
                "{challenge}"
            );
        }
    }
}
