//! What each front-end is asked for: one small file a language.

pub(crate) mod dve;
pub(crate) mod module;
pub(crate) mod pnml;
pub(crate) mod promela;
