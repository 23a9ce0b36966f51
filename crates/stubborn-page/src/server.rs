//! A server for one browser on this machine.
//!
//! It listens on the loopback device only. The page itself holds nothing; whatever is about the
//! model is told only to those who know a random token, which the address has after its `#`, where
//! browsers send it to nobody. Requests for other hosts (a name that somebody has bound to this
//! machine) and from pages of other origins are refused.

use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use serde_json::{Value, json};
use stubborn_plan::{CheckOptions, Planner};
use stubborn_protocol::{Model, Value as ProtocolValue};
use stubborn_search::{Limits, Progress, Stop, Target};
use tiny_http::{Header, Method, Response, Server};

use crate::check::Answer;
use crate::front;
use crate::session::{Request, Session};
use crate::subject::Subject;

/// Longest text that the page may send.
const LONGEST_BODY: u64 = 64 << 20;
/// How many answer at the same time.
const WORKERS: usize = 4;
/// How often workers look whether to stop.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// The page may load what comes from its server, and talk to it; nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
                      connect-src 'self'; img-src data:; frame-ancestors 'none'; base-uri 'none'; \
                      form-action 'none'";

/// How to serve.
#[derive(Clone, Copy, Debug, Default)]
pub struct ServeOptions {
    /// Which port; 0 for any that is free.
    pub port: u16,
}

/// Where a page is.
#[derive(Clone, Debug)]
pub struct Address {
    /// Of the loopback device.
    pub port: u16,
    /// Whoever has it may ask.
    pub token: String,
}

impl Address {
    /// What to open in a browser.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/#{}", self.port, self.token)
    }
}

/// A server with the session that it shows.
pub struct Page<'m> {
    server: Server,
    address: Address,
    /// With a number that changes when the session does.
    current: RwLock<(u64, Arc<Session<'m>>)>,
}

impl std::fmt::Debug for Page<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Page").field(&self.address.port).finish()
    }
}

impl<'m> Page<'m> {
    /// Takes a port.
    ///
    /// # Errors
    /// If the port is taken, or the system has no random numbers.
    pub fn open(session: Session<'m>, options: ServeOptions) -> std::io::Result<Self> {
        let server = Server::http(("127.0.0.1", options.port)).map_err(std::io::Error::other)?;
        let port = server.server_addr().to_ip().map_or(0, |ip| ip.port());
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
        let token = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self {
            server,
            address: Address { port, token },
            current: RwLock::new((0, Arc::new(session))),
        })
    }

    /// Where it is.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// What it shows.
    pub fn session(&self) -> Arc<Session<'m>> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&current.1)
    }

    /// Shows something else from now on.
    pub fn show(&self, session: Session<'m>) {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        *current = (current.0 + 1, Arc::new(session));
    }

    /// Answers requests until somebody sets the flag.
    pub fn run(&self, stop: &AtomicBool) {
        std::thread::scope(|scope| {
            for _ in 0..WORKERS {
                // Executors of deeply nested models need a roomy stack.
                let worker = std::thread::Builder::new().stack_size(64 << 20);
                let _ = worker.spawn_scoped(scope, || {
                    while !stop.load(Ordering::Relaxed) {
                        if let Ok(Some(request)) = self.server.recv_timeout(LOOK_EVERY) {
                            self.respond(request);
                        }
                    }
                });
            }
        });
    }

    fn respond(&self, mut request: tiny_http::Request) {
        let (status, kind, text) = self.reply(&mut request);
        let mut response = Response::from_string(text).with_status_code(status);
        let headers = [
            ("Content-Type", kind),
            ("Content-Security-Policy", POLICY),
            ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Cache-Control", "no-store"),
        ];
        for (name, value) in headers {
            if let Ok(header) = Header::from_bytes(name, value) {
                response.add_header(header);
            }
        }
        // Whoever has gone away needs no answer.
        let _ = request.respond(response);
    }

    fn reply(&self, request: &mut tiny_http::Request) -> (u16, &'static str, String) {
        const TEXT: &str = "text/plain; charset=utf-8";
        let header = |name: &'static str| {
            let mut headers = request.headers().iter();
            let found = headers.find(|h| h.field.equiv(name));
            found.map(|h| h.value.as_str().to_owned())
        };
        let port = self.address.port;
        let hosts = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
        let is_ours = |host: &str| hosts.iter().any(|known| known == host);
        if !header("Host").is_some_and(|host| is_ours(&host)) {
            return (403, TEXT, "this is not the host that was asked for".into());
        }
        let from_us = |origin: String| origin.strip_prefix("http://").is_some_and(is_ours);
        let from_page = |site: String| site == "same-origin" || site == "none";
        if !header("Origin").is_none_or(from_us) || !header("Sec-Fetch-Site").is_none_or(from_page)
        {
            return (403, TEXT, "pages of other origins get no answers".into());
        }
        let target = request.url().to_owned();
        let Some(target) = target.strip_prefix("/api/") else {
            return match (request.method(), target.as_str()) {
                (Method::Get, "/") => (200, "text/html; charset=utf-8", front::html().into()),
                (Method::Get, "/page.js") => {
                    (200, "text/javascript; charset=utf-8", front::script())
                }
                (Method::Get, "/page.css") => (200, "text/css; charset=utf-8", front::STYLE.into()),
                _ => (404, TEXT, "there is nothing here".into()),
            };
        };
        let expected = format!("Bearer {}", self.address.token);
        if !header("Authorization").is_some_and(|given| is_same(&given, &expected)) {
            return (
                401,
                TEXT,
                "the token is wrong: open the address that was printed".into(),
            );
        }
        let mut body = String::new();
        let mut reader = request.as_reader().take(LONGEST_BODY);
        if reader.read_to_string(&mut body).is_err() {
            return (400, TEXT, "this is no text".into());
        }
        let asked = Request {
            body: &body,
            ..Request::of(target)
        };
        let (generation, session) = {
            let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
            (current.0, Arc::clone(&current.1))
        };
        let (status, mut answer) = match session.answer(&asked) {
            Ok(answer) => (200, answer),
            Err(refusal) => (200, json!({"refused": refusal.0})),
        };
        if let (Value::Object(fields), "status" | "model") = (&mut answer, asked.path) {
            fields.insert("generation".into(), json!(generation));
        }
        (status, "application/json", answer.to_string())
    }
}

/// Compares without telling by the time it takes where the texts differ.
fn is_same(one: &str, other: &str) -> bool {
    let differ = one
        .bytes()
        .zip(other.bytes())
        .fold(0, |all, (a, b)| all | (a ^ b));
    one.len() == other.len() && differ == 0
}

/// A protocol can be looked at from a test or an example.
pub trait Serve {
    /// Serves a page about it until the program is ended; says on standard error where. What it
    /// states is checked meanwhile.
    ///
    /// # Errors
    /// If no port is free.
    fn serve(&self) -> std::io::Result<()>;
}

impl<M: ProtocolValue> Serve for Model<M> {
    fn serve(&self) -> std::io::Result<()> {
        let stop = AtomicBool::new(false);
        serve(Subject::of_protocol(self), ServeOptions::default(), &stop)
    }
}

/// Serves a page about anything that is a system until somebody sets the flag; says on standard
/// error where. What the system states is checked meanwhile.
///
/// # Errors
/// If the port is taken, or the system has no random numbers.
pub fn serve(
    subject: Subject<'_>,
    options: ServeOptions,
    stop: &AtomicBool,
) -> std::io::Result<()> {
    let page = Page::open(Session::new(subject), options)?;
    let session = page.session();
    let name = &session.subject().name;
    eprintln!("{name}: open {}\n(Ctrl-C ends it)", page.address().url());
    std::thread::scope(|scope| {
        scope.spawn(|| session.run_check(&CheckOptions::default(), stop));
        page.run(stop);
    });
    Ok(())
}

impl Session<'_> {
    /// Surveys the system, and checks what it states.
    pub fn run_check(&self, options: &CheckOptions<'_>, stop: &AtomicBool) {
        self.survey(SURVEYED, SURVEY_TIME, Some(stop));
        self.check().running = true;
        let observe = |progress: &Progress| self.check().observe(progress);
        let options = CheckOptions {
            observer: Some(&observe),
            limits: Limits {
                interrupt: Some(stop),
                ..options.limits
            },
            ..options.clone()
        };
        let questions = &self.subject().questions;
        let targets: Vec<Target> = questions.iter().map(|question| question.target).collect();
        let planner = Planner::new(self.subject().searched, &options);
        let planner = planner.replayed_on(self.subject().system);
        let found = planner.check(&targets, Stop::AllViolated);
        let mut answers = Vec::new();
        let (mut levels, mut states, mut failure) = (Vec::new(), 0, None);
        match found {
            Err(error) => failure = Some(error.to_string()),
            Ok(report) => {
                for (at, (question, answer)) in questions.iter().zip(report.answers).enumerate() {
                    let run = &report.runs[answer.run];
                    let trace = answer.violation.and_then(|v| v.trace);
                    let title = format!("{}: {}", question.kind, question.name);
                    let trace = trace.map(|trace| self.add_trace(&title, trace, Some(at)));
                    answers.push(Answer {
                        title: question.name.clone(),
                        verdict: answer.verdict.name().into(),
                        note: format!("reduction {}, {} states", run.reduction, run.result.states),
                        why: String::new(),
                        trace,
                    });
                }
                states = report.runs.iter().map(|run| run.result.states).sum();
                let first = report.runs.first();
                levels = first.map_or_else(Vec::new, |run| run.result.level_sizes.clone());
            }
        }
        let mut check = self.check();
        check.running = false;
        (check.answers, check.levels) = (answers, levels);
        (check.states, check.failure) = (states, failure);
    }
}

/// Most states that are looked at to see which transitions can be taken.
pub const SURVEYED: u64 = 200_000;
/// The longest time for it.
pub const SURVEY_TIME: Duration = Duration::from_secs(3);
