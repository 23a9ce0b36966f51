//! What strangers do not know.

use std::fmt;
use std::hash::{BuildHasher, RandomState};

/// What every process must know that wants to take part.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

impl Token {
    /// One that nobody can guess: a keyed hash whose key comes from the operating system.
    pub fn random() -> Self {
        let random = || RandomState::new().hash_one(std::process::id());
        Self(format!("{:016x}{:016x}", random(), random()))
    }

    /// One that somebody has chosen; `None` if it is too short to be kept from anybody.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (text.len() >= 16).then(|| Self(text.to_owned()))
    }

    /// To be passed on.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether somebody knows it. How long that takes says nothing about where they differ.
    pub(crate) fn is(&self, other: &str) -> bool {
        let (own, other) = (self.0.as_bytes(), other.as_bytes());
        let differing = own.iter().zip(other).fold(0, |sum, (a, b)| sum | (a ^ b));
        own.len() == other.len() && differing == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_token_is_the_same() {
        let token = Token::random();
        assert!(token.is(token.as_str()));
        assert_ne!(token, Token::random());
        for other in [
            "",
            "0",
            &token.as_str()[1..],
            &format!("{}0", token.as_str()),
        ] {
            assert!(!token.is(other), "{other}");
        }
        assert_eq!(Token::new(" \n"), None);
        assert_eq!(Token::new("too short"), None);
        let given = format!("{}\n", token.as_str());
        assert_eq!(Token::new(&given), Some(token));
    }
}
