//! The loop: messages of the editor, and findings of the analyst.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender, select, unbounded};
use lsp_server::{
    Connection, ErrorCode, ExtractError, Message, Notification, Request, RequestId, Response,
};
use lsp_types::notification::{self as note, Notification as _, PublishDiagnostics, ShowMessage};
use lsp_types::request::{self as ask, Request as _};
use lsp_types::{
    CodeLensOptions, CompletionOptions, DiagnosticRelatedInformation, DiagnosticSeverity,
    ExecuteCommandOptions, HoverProviderCapability, InitializeParams, InitializeResult, Location,
    MessageType, NumberOrString, OneOf, PositionEncodingKind, PublishDiagnosticsParams,
    RenameOptions, ServerCapabilities, ServerInfo, ShowMessageParams, TextDocumentSyncCapability,
    TextDocumentSyncKind, Uri,
};
use serde_json::{Value, json};
use stubborn_diagnostics::{Diagnostic, Severity, has_errors};

use crate::documents::{Documents, Shallow};
use crate::index::Index;
use crate::position::Encoding;
use crate::uri::uri_of;
use crate::{Analyst, Findings, Language, answers, completion, lenses};

/// A text for the analyst.
struct Task {
    uri: Uri,
    version: i32,
    path: std::path::PathBuf,
    text: String,
    language: Language,
    definitions: Vec<(String, String)>,
}

/// What the analyst said about it.
struct Found {
    uri: Uri,
    version: i32,
    findings: Findings,
}

/// What is wrong with a model that starts no process, but not with a file that one includes.
const NO_PROCESS: &str = "PML040";

/// The stack of the thread that analyses: expressions may nest deeply.
const STACK: usize = 256 << 20;

/// Waits for the request that everything begins with; nothing if the editor goes.
fn begin(connection: &Connection) -> Option<(RequestId, InitializeParams)> {
    loop {
        match connection.receiver.recv().ok()? {
            Message::Request(request) => {
                let id = request.id.clone();
                let refused = match request.method == ask::Initialize::METHOD {
                    true => match extract::<ask::Initialize>(request) {
                        Ok(params) => return Some((id, params)),
                        Err(refused) => refused,
                    },
                    false => {
                        let why = format!("`{}` comes first", ask::Initialize::METHOD);
                        (ErrorCode::ServerNotInitialized, why)
                    }
                };
                let response = Response::new_err(id, refused.0 as i32, refused.1);
                connection.sender.send(response.into()).ok()?;
            }
            Message::Notification(note) if note.method == note::Exit::METHOD => return None,
            Message::Notification(_) | Message::Response(_) => {}
        }
    }
}

pub(crate) fn run(connection: Connection, analyst: Arc<dyn Analyst>) -> Result<bool, String> {
    let Some((id, params)) = begin(&connection) else {
        return Ok(false);
    };
    let encoding = encoding(&params);
    let answer = serde_json::to_value(InitializeResult {
        capabilities: capabilities(encoding),
        server_info: Some(ServerInfo {
            name: "stubborn".into(),
            version: Some(env!("CARGO_PKG_VERSION").into()),
        }),
    });
    let answer = answer.map_err(|error| error.to_string())?;
    let answer = Response::new_ok(id, answer);
    if connection.sender.send(answer.into()).is_err() {
        return Ok(false);
    }

    let (tasks, todo) = unbounded();
    let (done, findings) = unbounded();
    let worker = Arc::clone(&analyst);
    std::thread::Builder::new()
        .name("analyst".into())
        .stack_size(STACK)
        .spawn(move || analyse(&*worker, &todo, &done))
        .map_err(|error| format!("cannot start a thread: {error}"))?;
    let mut server = Server {
        connection,
        analyst,
        encoding,
        documents: Documents::new(definitions(params.initialization_options.as_ref())),
        tasks,
        shown: HashMap::new(),
        dirty: Vec::new(),
        can_show_documents: can_show_documents(&params),
        children: lenses::Children::default(),
        is_over: false,
    };
    Ok(server.serve(&findings))
}

/// Bytes if the editor can count them, else what every editor can count.
fn encoding(params: &InitializeParams) -> Encoding {
    let general = params.capabilities.general.as_ref();
    let offered = general.and_then(|g| g.position_encodings.as_ref());
    match offered.is_some_and(|o| o.contains(&PositionEncodingKind::UTF8)) {
        true => Encoding::Utf8,
        false => Encoding::Utf16,
    }
}

fn can_show_documents(params: &InitializeParams) -> bool {
    let window = params.capabilities.window.as_ref();
    window.is_some_and(|w| w.show_document.as_ref().is_some_and(|s| s.support))
}

/// `{ "definitions": { "N": "3", "FAST": null } }`
fn definitions(options: Option<&Value>) -> Vec<(String, String)> {
    let given = options.and_then(|o| o.get("definitions")?.as_object());
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Null => "1".to_owned(),
        other => other.to_string(),
    };
    let all = given.into_iter().flatten();
    all.map(|(name, value)| (name.clone(), text(value)))
        .collect()
}

fn capabilities(encoding: Encoding) -> ServerCapabilities {
    ServerCapabilities {
        position_encoding: Some(match encoding {
            Encoding::Utf8 => PositionEncodingKind::UTF8,
            Encoding::Utf16 => PositionEncodingKind::UTF16,
        }),
        text_document_sync: Some(TextDocumentSyncCapability::Kind(
            TextDocumentSyncKind::INCREMENTAL,
        )),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        definition_provider: Some(OneOf::Left(true)),
        references_provider: Some(OneOf::Left(true)),
        document_highlight_provider: Some(OneOf::Left(true)),
        document_symbol_provider: Some(OneOf::Left(true)),
        rename_provider: Some(OneOf::Right(RenameOptions {
            prepare_provider: Some(true),
            work_done_progress_options: Default::default(),
        })),
        completion_provider: Some(CompletionOptions {
            trigger_characters: Some(vec![".".into(), ">".into(), "@".into()]),
            ..CompletionOptions::default()
        }),
        document_formatting_provider: Some(OneOf::Left(true)),
        code_lens_provider: Some(CodeLensOptions {
            resolve_provider: Some(false),
        }),
        execute_command_provider: Some(ExecuteCommandOptions {
            commands: lenses::COMMANDS.iter().map(|c| (*c).to_owned()).collect(),
            work_done_progress_options: Default::default(),
        }),
        ..ServerCapabilities::default()
    }
}

/// Analyses what comes, of each document only the last text.
fn analyse(analyst: &dyn Analyst, todo: &Receiver<Task>, done: &Sender<Found>) {
    while let Ok(first) = todo.recv() {
        let mut waiting = vec![first];
        for task in todo.try_iter() {
            waiting.retain(|old| old.uri != task.uri);
            waiting.push(task);
        }
        for task in waiting {
            let findings =
                analyst.analyse(&task.path, &task.text, task.language, &task.definitions);
            let found = Found {
                uri: task.uri,
                version: task.version,
                findings,
            };
            if done.send(found).is_err() {
                return;
            }
        }
    }
}

/// What comes next.
enum Event {
    Message(Message),
    Found(Found),
    /// Nothing for now: time to show what is wrong.
    Pause,
    Gone,
}

struct Server {
    connection: Connection,
    analyst: Arc<dyn Analyst>,
    encoding: Encoding,
    documents: Documents,
    tasks: Sender<Task>,
    /// For each model, the files for which messages are shown, and these.
    shown: HashMap<String, HashMap<String, Vec<lsp_types::Diagnostic>>>,
    /// What was changed and not looked at since.
    dirty: Vec<Uri>,
    can_show_documents: bool,
    children: lenses::Children,
    /// The editor has asked for the end.
    is_over: bool,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.children.end();
    }
}

impl Server {
    fn next(&self, findings: &Receiver<Found>) -> Event {
        if !self.dirty.is_empty() {
            return match self.connection.receiver.try_recv() {
                Ok(message) => Event::Message(message),
                Err(crossbeam_channel::TryRecvError::Empty) => Event::Pause,
                Err(crossbeam_channel::TryRecvError::Disconnected) => Event::Gone,
            };
        }
        select! {
            recv(self.connection.receiver) -> message => message.map_or(Event::Gone, Event::Message),
            recv(findings) -> found => found.map_or(Event::Gone, Event::Found),
        }
    }

    /// Until the editor goes: whether it has said so before.
    fn serve(&mut self, findings: &Receiver<Found>) -> bool {
        loop {
            match self.next(findings) {
                Event::Gone => return false,
                Event::Pause => self.look_at_changes(),
                Event::Found(found) => {
                    if self
                        .documents
                        .found(&found.uri, found.version, found.findings)
                    {
                        self.publish(&found.uri);
                    }
                }
                Event::Message(Message::Request(request)) => {
                    let response = self.answer(request);
                    self.send(Message::Response(response));
                }
                Event::Message(Message::Notification(notification)) => {
                    if notification.method == note::Exit::METHOD {
                        return self.is_over;
                    }
                    self.notice(notification);
                }
                Event::Message(Message::Response(_)) => {}
            }
        }
    }

    fn send(&self, message: Message) {
        // Where nobody listens any more, the next message is missing, too.
        let _ = self.connection.sender.send(message);
    }

    fn notice(&mut self, notification: Notification) {
        match notification.method.as_str() {
            note::DidOpenTextDocument::METHOD => {
                let Some(params) = read::<note::DidOpenTextDocument>(notification) else {
                    return;
                };
                let document = params.text_document;
                let (uri, id) = (document.uri, document.language_id);
                if self
                    .documents
                    .open(uri.clone(), &id, document.version, document.text)
                {
                    self.changed(uri);
                }
            }
            note::DidChangeTextDocument::METHOD => {
                let Some(params) = read::<note::DidChangeTextDocument>(notification) else {
                    return;
                };
                let (uri, version) = (params.text_document.uri, params.text_document.version);
                let changes = params.content_changes;
                if self.documents.change(&uri, version, changes, self.encoding) {
                    self.changed(uri);
                }
            }
            note::DidCloseTextDocument::METHOD => {
                let Some(params) = read::<note::DidCloseTextDocument>(notification) else {
                    return;
                };
                let uri = params.text_document.uri;
                if let Some(closed) = self.documents.close(&uri) {
                    self.dirty.retain(|d| *d != uri);
                    let concerned = self.documents.touched(&closed.path);
                    self.dirty.extend(concerned);
                    self.show(&uri, HashMap::new());
                }
            }
            _ => {}
        }
    }

    /// A text is another one: it, and what includes it, is looked at in the next pause.
    fn changed(&mut self, uri: Uri) {
        let path = self.documents.get(&uri).map(|d| d.path.clone());
        let concerned = path.map_or_else(Vec::new, |path| self.documents.touched(&path));
        for uri in [uri].into_iter().chain(concerned) {
            if !self.dirty.contains(&uri) {
                self.dirty.push(uri);
            }
        }
    }

    fn look_at_changes(&mut self) {
        let changed = std::mem::take(&mut self.dirty);
        let mut concerned = changed.clone();
        for uri in &changed {
            // What is wrong with an included file depends on who includes it.
            for file in self.documents.included(uri) {
                if !concerned.contains(&file) {
                    concerned.push(file);
                }
            }
        }
        for uri in &concerned {
            match changed.contains(uri) {
                true => self.look_at(uri),
                false => self.publish(uri),
            }
        }
    }

    fn look_at(&mut self, uri: &Uri) {
        let definitions = self.documents.definitions.clone();
        let Some((document, shallow)) = self.documents.read(uri) else {
            return;
        };
        let task = (!has_errors(&shallow.diagnostics)).then(|| Task {
            uri: uri.clone(),
            version: document.version,
            path: document.path.clone(),
            text: document.text.clone(),
            language: document.language,
            definitions,
        });
        if let Some(task) = task {
            let _ = self.tasks.send(task);
        }
        self.publish(uri);
    }

    fn publish(&mut self, uri: &Uri) {
        let encoding = self.encoding;
        let included = self.documents.is_included(uri);
        let Some((document, shallow)) = self.documents.read(uri) else {
            return;
        };
        let mut all = shallow.diagnostics.clone();
        if included {
            all.retain(|d| d.code != NO_PROCESS);
        }
        for deep in document.deep.iter().flatten() {
            let known = |d: &Diagnostic| {
                d.code == deep.code && d.span == deep.span && d.message == deep.message
            };
            if !all.iter().any(known) {
                all.push(deep.clone());
            }
        }
        let mut by_file: HashMap<String, Vec<lsp_types::Diagnostic>> = HashMap::new();
        for diagnostic in &all {
            let place = located(&shallow.index, diagnostic, encoding, (uri, &document.text));
            if let Some((file, shown)) = place {
                by_file.entry(file).or_default().push(shown);
            }
        }
        // While something is wrong, what is used is not known.
        if !has_errors(&all) && !included {
            let own = by_file.entry(uri.as_str().to_owned()).or_default();
            own.extend(answers::unused(&shallow.index, encoding));
        }
        self.show(uri, by_file);
    }

    /// Shows what is wrong with the files of a model, and takes back what was shown before.
    fn show(&mut self, model: &Uri, now: HashMap<String, Vec<lsp_types::Diagnostic>>) {
        let key = model.as_str().to_owned();
        let before = self.shown.insert(key.clone(), now);
        let after = self.shown.get(&key).into_iter().flatten();
        let mut files: HashSet<String> = after.map(|(file, _)| file.clone()).collect();
        files.extend(before.into_iter().flatten().map(|(file, _)| file));
        files.insert(key);
        for file in files {
            // A file may be part of several models.
            let mut diagnostics: Vec<lsp_types::Diagnostic> = Vec::new();
            for one in self
                .shown
                .values()
                .filter_map(|files| files.get(&file))
                .flatten()
            {
                if !diagnostics.contains(one) {
                    diagnostics.push(one.clone());
                }
            }
            let Ok(uri) = file.parse::<Uri>() else {
                continue;
            };
            let version = self.documents.get(&uri).map(|d| d.version);
            let params = PublishDiagnosticsParams {
                uri,
                diagnostics,
                version,
            };
            let method = PublishDiagnostics::METHOD.to_owned();
            self.send(Message::Notification(Notification::new(method, params)));
        }
    }

    fn answer(&mut self, request: Request) -> Response {
        let id = request.id.clone();
        match self.dispatch(request) {
            Ok(value) => Response::new_ok(id, value),
            Err((code, message)) => Response::new_err(id, code as i32, message),
        }
    }

    fn dispatch(&mut self, request: Request) -> Result<Value, (ErrorCode, String)> {
        let encoding = self.encoding;
        let method = request.method.clone();
        if self.is_over {
            let message = format!("`{}` came before", ask::Shutdown::METHOD);
            return Err((ErrorCode::InvalidRequest, message));
        }
        Ok(match method.as_str() {
            ask::Initialize::METHOD => {
                let message = "it has begun already".to_owned();
                return Err((ErrorCode::InvalidRequest, message));
            }
            ask::Shutdown::METHOD => {
                self.is_over = true;
                Value::Null
            }
            ask::HoverRequest::METHOD => {
                let place = extract::<ask::HoverRequest>(request)?.text_document_position_params;
                self.about(&place.text_document.uri, |document, shallow| {
                    answers::hover(document, shallow, place.position, encoding)
                })
            }
            ask::GotoDefinition::METHOD => {
                let place = extract::<ask::GotoDefinition>(request)?.text_document_position_params;
                self.about(&place.text_document.uri, |document, shallow| {
                    answers::definition(document, shallow, place.position, encoding)
                })
            }
            ask::References::METHOD => {
                let params = extract::<ask::References>(request)?;
                let place = params.text_document_position;
                let declaration = params.context.include_declaration;
                self.about(&place.text_document.uri, |document, shallow| {
                    answers::references(document, shallow, place.position, declaration, encoding)
                })
            }
            ask::DocumentHighlightRequest::METHOD => {
                let params = extract::<ask::DocumentHighlightRequest>(request)?;
                let place = params.text_document_position_params;
                self.about(&place.text_document.uri, |document, shallow| {
                    answers::highlights(document, shallow, place.position, encoding)
                })
            }
            ask::DocumentSymbolRequest::METHOD => {
                let params = extract::<ask::DocumentSymbolRequest>(request)?;
                self.about(&params.text_document.uri, |_, shallow| {
                    Some(answers::symbols(shallow, encoding))
                })
            }
            ask::PrepareRenameRequest::METHOD => {
                let place = extract::<ask::PrepareRenameRequest>(request)?;
                let found = self.documents.read(&place.text_document.uri);
                let Some((document, shallow)) = found else {
                    return Ok(Value::Null);
                };
                let range = answers::renamable(document, shallow, place.position, encoding);
                json!(range.map_err(|why| (ErrorCode::RequestFailed, why))?)
            }
            ask::Rename::METHOD => {
                let params = extract::<ask::Rename>(request)?;
                let place = params.text_document_position;
                let found = self.documents.read(&place.text_document.uri);
                let Some((document, shallow)) = found else {
                    return Ok(Value::Null);
                };
                let name = &params.new_name;
                let edit = answers::rename(document, shallow, place.position, name, encoding);
                json!(edit.map_err(|why| (ErrorCode::RequestFailed, why))?)
            }
            ask::Completion::METHOD => {
                let place = extract::<ask::Completion>(request)?.text_document_position;
                self.about(&place.text_document.uri, |document, shallow| {
                    Some(completion::complete(
                        document,
                        shallow,
                        place.position,
                        encoding,
                    ))
                })
            }
            ask::Formatting::METHOD => {
                let params = extract::<ask::Formatting>(request)?;
                self.about(&params.text_document.uri, |document, _| {
                    Some(answers::formatting(document, &params.options, encoding))
                })
            }
            ask::CodeLensRequest::METHOD => {
                let params = extract::<ask::CodeLensRequest>(request)?;
                let page = self.analyst.has_page();
                self.about(&params.text_document.uri, |document, shallow| {
                    Some(lenses::lenses(document, shallow, page, encoding))
                })
            }
            ask::ExecuteCommand::METHOD => {
                let params = extract::<ask::ExecuteCommand>(request)?;
                let started = lenses::execute(
                    &self.children,
                    &self.analyst.program(),
                    &params.command,
                    &params.arguments,
                    self.connection.sender.clone(),
                    self.can_show_documents,
                );
                if let Err(why) = started {
                    self.say(&why);
                    return Err((ErrorCode::RequestFailed, why));
                }
                Value::Null
            }
            _ => {
                let message = format!("there is no {method}");
                return Err((ErrorCode::MethodNotFound, message));
            }
        })
    }

    fn say(&self, text: &str) {
        let params = ShowMessageParams {
            typ: MessageType::ERROR,
            message: text.to_owned(),
        };
        let method = ShowMessage::METHOD.to_owned();
        self.send(Message::Notification(Notification::new(method, params)));
    }

    /// An answer about a document; nothing about one that is not open.
    fn about<T: serde::Serialize>(
        &mut self,
        uri: &Uri,
        answer: impl FnOnce(&crate::documents::Document, &Shallow) -> Option<T>,
    ) -> Value {
        let found = self.documents.read(uri);
        json!(found.and_then(|(document, shallow)| answer(document, shallow)))
    }
}

fn read<N: note::Notification>(notification: Notification) -> Option<N::Params> {
    notification.extract(N::METHOD).ok()
}

fn extract<R: ask::Request>(request: Request) -> Result<R::Params, (ErrorCode, String)> {
    let extracted: Result<(RequestId, R::Params), _> = request.extract(R::METHOD);
    extracted.map(|(_, params)| params).map_err(|error| {
        let why = match error {
            ExtractError::MethodMismatch(_) => "it is another request".to_owned(),
            ExtractError::JsonError { error, .. } => error.to_string(),
        };
        (ErrorCode::InvalidParams, why)
    })
}

/// A message as editors want it, with the file that it is about.
fn located(
    index: &Index,
    diagnostic: &Diagnostic,
    encoding: Encoding,
    (model, text): (&Uri, &str),
) -> Option<(String, lsp_types::Diagnostic)> {
    let uri_of_file = |at: usize| match at {
        0 => Some(model.clone()),
        at => uri_of(&index.files[at].path),
    };
    let (at, span) = index.local(diagnostic.span)?;
    let file = &index.files[at];
    debug_assert!(at > 0 || file.text == text);
    let uri = uri_of_file(at)?;
    let related = diagnostic.related.iter().filter_map(|(span, words)| {
        let (at, span) = index.local(*span)?;
        let file = &index.files[at];
        Some(DiagnosticRelatedInformation {
            location: Location {
                uri: uri_of_file(at)?,
                range: file.lines.range(&file.text, span, encoding),
            },
            message: words.clone(),
        })
    });
    let related: Vec<_> = related.collect();
    let message = match &diagnostic.help {
        Some(help) => format!("{}\nhelp: {help}", diagnostic.message),
        None => diagnostic.message.clone(),
    };
    let shown = lsp_types::Diagnostic {
        range: file.lines.range(&file.text, span, encoding),
        severity: Some(match diagnostic.severity {
            Severity::Error => DiagnosticSeverity::ERROR,
            Severity::Warning => DiagnosticSeverity::WARNING,
        }),
        code: Some(NumberOrString::String(diagnostic.code.to_owned())),
        source: Some("stubborn".into()),
        message,
        related_information: (!related.is_empty()).then_some(related),
        ..lsp_types::Diagnostic::default()
    };
    Some((uri.as_str().to_owned(), shown))
}
