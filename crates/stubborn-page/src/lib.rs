#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod check;
mod front;
mod report;
mod server;
mod session;
mod sets;
mod subject;
mod trace;

pub use check::{Answer, Check};
pub use report::report;
pub use server::{Address, Page, SURVEY_TIME, SURVEYED, Serve, ServeOptions, serve};
pub use session::{Refusal, Request, Session};
pub use subject::{Arrow, File, Place, Question, Subject, Temporal};
