//! LTL.
pub mod formula;
pub mod guard;
pub mod lasso;
pub mod parser;
pub mod print;
mod scan;
