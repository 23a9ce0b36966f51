//! A server for one browser on this machine.
//!
//! It listens on the loopback device only. The page itself holds nothing; whatever is about the
//! model is told only to those who know a random token, which the address has after its `#`, where
//! browsers send it to nobody. Requests for other hosts (a name that somebody has bound to this
//! machine) and from pages of other origins are refused.

//!
//! One thread speaks HTTP with all connections at once. Whoever has not shown the token gets what needs
//! no model: it occupies no worker, its request may have few bytes, and its connection ends soon. A
//! request with the token is read to its end, and answered by one of a few workers.

use std::cell::Cell;
use std::convert::Infallible;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, mpsc};
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Response, StatusCode, header};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::{Value, json};
use stubborn_plan::{CheckOptions, Planner};
use stubborn_protocol::{Model, Value as ProtocolValue};
use stubborn_search::{Limits, Progress, Stop, Target};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, oneshot};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::check::Answer;
use crate::front;
use crate::session::{Request, SURVEY_TIME, SURVEYED, Session};
use crate::subject::Subject;

/// Longest text that the page may send.
const LONGEST_BODY: usize = 64 << 20;
/// Bytes of the first line and the headers of a request.
const LONGEST_HEAD: usize = 32 << 10;
/// How long the first line and the headers of a request may take.
const HEAD_TIME: Duration = Duration::from_secs(5);
/// How long a connection lasts on which nobody shows the token.
const STRANGER_TIME: Duration = Duration::from_secs(10);
/// How long it lasts after somebody did; the page asks much more often than that.
const KNOWN_TIME: Duration = Duration::from_secs(600);
/// Most connections at a time: fewer than a process may have open.
const MOST_CONNECTIONS: usize = 256;
/// How many answer at the same time.
const WORKERS: usize = 4;
/// How often the server looks whether to stop.
const LOOK_EVERY: Duration = Duration::from_millis(50);
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
    listener: std::net::TcpListener,
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
        let listener = std::net::TcpListener::bind(("127.0.0.1", options.port))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
        let token = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self {
            listener,
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
    ///
    /// # Errors
    /// If the system has no means to wait for connections.
    pub fn run(&self, stop: &AtomicBool) -> std::io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()?;
        let listener = self.listener.try_clone()?;
        let (jobs, waiting) = mpsc::channel::<Job>();
        let waiting = Mutex::new(waiting);
        std::thread::scope(|scope| {
            for _ in 0..WORKERS {
                // Executors of deeply nested models need a roomy stack.
                let worker = std::thread::Builder::new().stack_size(64 << 20);
                worker.spawn_scoped(scope, || {
                    loop {
                        let waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
                        let Ok(job) = waiting.recv() else {
                            return;
                        };
                        drop(waiting);
                        // Whoever has gone away needs no answer.
                        let _ = job.reply.send(self.answer(&job.target, &job.body));
                    }
                })?;
            }
            let door = Rc::new(Door {
                address: self.address.clone(),
                jobs,
            });
            let tasks = tokio::task::LocalSet::new();
            // What is dropped at the end closes connections, and lets workers go.
            tasks.block_on(&runtime, async move {
                let listener = TcpListener::from_std(listener)?;
                let accepting = tokio::task::spawn_local(accept(listener, door));
                while !stop.load(Ordering::Relaxed) {
                    sleep(LOOK_EVERY).await;
                }
                accepting.abort();
                Ok(())
            })
        })
    }

    /// The answer to a request of the page, in JSON.
    fn answer(&self, target: &str, body: &str) -> String {
        let asked = Request {
            body,
            ..Request::of(target)
        };
        let (generation, session) = {
            let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
            (current.0, Arc::clone(&current.1))
        };
        let mut answer = match session.answer(&asked) {
            Ok(answer) => answer,
            Err(refusal) => json!({"refused": refusal.0}),
        };
        if let (Value::Object(fields), "status" | "model") = (&mut answer, asked.path) {
            fields.insert("generation".into(), json!(generation));
        }
        answer.to_string()
    }
}

/// A request with the token.
struct Job {
    /// What comes after `/api/`.
    target: String,
    body: String,
    reply: oneshot::Sender<String>,
}

/// A status, the kind of a text, and the text.
type Reply = (StatusCode, &'static str, String);

const TEXT: &str = "text/plain; charset=utf-8";

fn refused(status: StatusCode, why: &str) -> Reply {
    (status, TEXT, why.to_owned())
}

/// Lets those in who know the token.
struct Door {
    address: Address,
    jobs: mpsc::Sender<Job>,
}

/// Takes connections, as many as there may be at a time.
async fn accept(listener: TcpListener, door: Rc<Door>) {
    let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    while let Ok(place) = Arc::clone(&room).acquire_owned().await {
        match listener.accept().await {
            Ok((stream, _)) => {
                let door = Rc::clone(&door);
                tokio::task::spawn_local(async move {
                    door.converse(stream).await;
                    drop(place);
                });
            }
            // Too many files are open, or the peer has gone again.
            Err(_) => sleep(LOOK_EVERY).await,
        }
    }
}

impl Door {
    /// Answers one connection for as long as it may last.
    async fn converse(&self, stream: TcpStream) {
        let end = Cell::new(Instant::now() + STRANGER_TIME);
        let service = service_fn(|request| async {
            Ok::<_, Infallible>(response(self.reply(request, &end).await))
        });
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIME)
            .max_buf_size(LONGEST_HEAD);
        let connection = http.serve_connection(TokioIo::new(stream), service);
        let mut connection = std::pin::pin!(connection);
        // What the peer does wrong ends its connection, and nothing else.
        while timeout_at(end.get(), connection.as_mut()).await.is_err() {
            if end.get() <= Instant::now() {
                return;
            }
        }
    }

    async fn reply(&self, request: hyper::Request<Incoming>, end: &Cell<Instant>) -> Reply {
        let (head, body) = request.into_parts();
        if let Some(refusal) = self.stranger(&head.headers) {
            return refusal;
        }
        let path = head
            .uri
            .path_and_query()
            .map_or("", |target| target.as_str());
        let Some(target) = path.strip_prefix("/api/") else {
            return match (&head.method, path) {
                (&Method::GET, "/") => (
                    StatusCode::OK,
                    "text/html; charset=utf-8",
                    front::html().into(),
                ),
                (&Method::GET, "/page.js") => (
                    StatusCode::OK,
                    "text/javascript; charset=utf-8",
                    front::script(),
                ),
                (&Method::GET, "/page.css") => (
                    StatusCode::OK,
                    "text/css; charset=utf-8",
                    front::STYLE.into(),
                ),
                _ => refused(StatusCode::NOT_FOUND, "there is nothing here"),
            };
        };
        let expected = format!("Bearer {}", self.address.token);
        if !only(&head.headers, header::AUTHORIZATION)
            .is_some_and(|given| is_same(given, &expected))
        {
            return refused(
                StatusCode::UNAUTHORIZED,
                "the token is wrong: open the address that was printed",
            );
        }
        end.set(Instant::now() + KNOWN_TIME);
        let body = match timeout(STRANGER_TIME, Limited::new(body, LONGEST_BODY).collect()).await {
            Err(_) => {
                return refused(
                    StatusCode::REQUEST_TIMEOUT,
                    "the text takes too long to come",
                );
            }
            Ok(Err(_)) => {
                return refused(
                    StatusCode::PAYLOAD_TOO_LARGE,
                    "the text is too long, or was cut off",
                );
            }
            Ok(Ok(body)) => body.to_bytes().to_vec(),
        };
        let Ok(body) = String::from_utf8(body) else {
            return refused(StatusCode::BAD_REQUEST, "this is no text");
        };
        let (reply, answer) = oneshot::channel();
        let job = Job {
            target: target.to_owned(),
            body,
            reply,
        };
        let answer = match self.jobs.send(job) {
            Ok(()) => answer.await.ok(),
            Err(_) => None,
        };
        end.set(Instant::now() + KNOWN_TIME);
        match answer {
            Some(answer) => (StatusCode::OK, "application/json", answer),
            None => refused(StatusCode::INTERNAL_SERVER_ERROR, "there is no answer"),
        }
    }

    /// Why a request gets nothing, whatever it asks for: it is for another host, or comes from a page
    /// of another origin.
    fn stranger(&self, headers: &HeaderMap) -> Option<Reply> {
        let port = self.address.port;
        let hosts = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
        let is_ours = |host: &str| hosts.iter().any(|known| known == host);
        if !only(headers, header::HOST).is_some_and(is_ours) {
            return Some(refused(
                StatusCode::FORBIDDEN,
                "this is not the host that was asked for",
            ));
        }
        let from_us = |origin: &str| origin.strip_prefix("http://").is_some_and(is_ours);
        let from_page = |site: &str| site == "same-origin" || site == "none";
        let is_allowed = |name: HeaderName, allowed: &dyn Fn(&str) -> bool| {
            !headers.contains_key(&name) || only(headers, name).is_some_and(allowed)
        };
        let site = HeaderName::from_static("sec-fetch-site");
        if !is_allowed(header::ORIGIN, &from_us) || !is_allowed(site, &from_page) {
            return Some(refused(
                StatusCode::FORBIDDEN,
                "pages of other origins get no answers",
            ));
        }
        None
    }
}

/// A header that is there once, and is a text.
fn only(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut all = headers.get_all(name).iter();
    let value = all.next()?.to_str().ok()?;
    all.next().is_none().then_some(value)
}

fn response((status, kind, text): Reply) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    let headers = [
        ("content-type", kind),
        ("content-security-policy", POLICY),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-resource-policy", "same-origin"),
        ("cache-control", "no-store"),
    ];
    for (name, value) in headers {
        let name = HeaderName::from_static(name);
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    response
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
/// If the port is taken, or the system has no random numbers or no means to wait for connections.
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
        page.run(stop)
    })
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
