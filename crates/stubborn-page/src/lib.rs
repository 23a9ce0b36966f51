#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod check;
mod front;
mod report;
#[cfg(feature = "serve")]
mod server;
mod session;
mod sets;
mod subject;
mod trace;

pub use check::{Answer, Check};
pub use report::report;
#[cfg(feature = "serve")]
pub use server::{Address, Page, Serve, ServeOptions, serve};
pub use session::{Refusal, Request, SURVEY_TIME, SURVEYED, Session};
pub use subject::{Arrow, File, Place, Question, Subject, Temporal};
