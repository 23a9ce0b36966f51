//! The naive checker: small, slow, and obviously right.
