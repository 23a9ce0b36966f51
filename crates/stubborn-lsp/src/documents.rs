//! The texts that are open in the editor, with what is known about them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use lsp_types::{TextDocumentContentChangeEvent, Uri};
use stubborn_diagnostics::Diagnostic;
use stubborn_promela::source::{FileLoader, Loader};

use crate::index::Index;
use crate::position::{Encoding, Lines};
use crate::uri::path_of;
use crate::{Findings, Language, ValueRange, dve, promela};

/// A text that is open.
pub(crate) struct Document {
    pub(crate) uri: Uri,
    pub(crate) path: PathBuf,
    pub(crate) language: Language,
    pub(crate) version: i32,
    pub(crate) text: String,
    /// What the parsers say; nothing after a change until somebody asks.
    shallow: Option<Shallow>,
    /// What the analyst has said about this very text.
    pub(crate) deep: Option<Vec<Diagnostic>>,
    /// Of the last text that was right.
    pub(crate) ranges: Vec<ValueRange>,
}

/// What the parsers say about a text.
pub(crate) struct Shallow {
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) index: Index,
}

/// All of them, by their addresses.
pub(crate) struct Documents {
    open: HashMap<String, Document>,
    pub(crate) definitions: Vec<(String, String)>,
}

/// Included files are read from the editor if they are open there.
struct Overlay {
    texts: HashMap<PathBuf, String>,
}

impl Loader for Overlay {
    fn load(&self, path: &Path) -> Result<String, String> {
        match self.texts.get(path) {
            Some(text) => Ok(text.clone()),
            None => FileLoader.load(path),
        }
    }
}

impl Documents {
    pub(crate) fn new(definitions: Vec<(String, String)>) -> Self {
        Self {
            open: HashMap::new(),
            definitions,
        }
    }

    pub(crate) fn open(&mut self, uri: Uri, id: &str, version: i32, text: String) -> bool {
        let path = path_of(&uri);
        let Some(language) = Language::of(id, &path) else {
            return false;
        };
        let key = uri.as_str().to_owned();
        let document = Document {
            uri,
            path,
            language,
            version,
            text,
            shallow: None,
            deep: None,
            ranges: Vec::new(),
        };
        self.open.insert(key, document);
        true
    }

    pub(crate) fn close(&mut self, uri: &Uri) -> Option<Document> {
        self.open.remove(uri.as_str())
    }

    pub(crate) fn get(&self, uri: &Uri) -> Option<&Document> {
        self.open.get(uri.as_str())
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Document> {
        self.open.values()
    }

    pub(crate) fn change(
        &mut self,
        uri: &Uri,
        version: i32,
        changes: Vec<TextDocumentContentChangeEvent>,
        encoding: Encoding,
    ) -> bool {
        let Some(document) = self.open.get_mut(uri.as_str()) else {
            return false;
        };
        for change in changes {
            match change.range {
                None => document.text = change.text,
                Some(range) => {
                    let lines = Lines::new(&document.text);
                    lines.replace(&mut document.text, range, &change.text, encoding);
                }
            }
        }
        document.version = version;
        document.shallow = None;
        document.deep = None;
        true
    }

    /// Forgets what was known about models that may include a file.
    pub(crate) fn touched(&mut self, path: &Path) -> Vec<Uri> {
        let mut concerned = Vec::new();
        for document in self.open.values_mut() {
            let includes = |shallow: &Shallow| {
                let mut files = shallow.index.files.iter().skip(1);
                files.any(|file| file.path == path)
            };
            if document.shallow.as_ref().is_some_and(includes) {
                document.shallow = None;
                concerned.push(document.uri.clone());
            }
        }
        concerned
    }

    /// Whether another open model includes this file.
    pub(crate) fn is_included(&self, uri: &Uri) -> bool {
        let path = self.get(uri).map(|d| d.path.as_path());
        self.all()
            .filter_map(|d| d.shallow.as_ref())
            .any(|shallow| {
                let mut files = shallow.index.files.iter().skip(1);
                files.any(|file| Some(file.path.as_path()) == path)
            })
    }

    /// The open files that a model includes.
    pub(crate) fn included(&mut self, uri: &Uri) -> Vec<Uri> {
        let Some((_, shallow)) = self.read(uri) else {
            return Vec::new();
        };
        let files = shallow.index.files.iter().skip(1);
        let paths: Vec<PathBuf> = files.map(|file| file.path.clone()).collect();
        let open = self.all().filter(|d| paths.contains(&d.path));
        open.map(|d| d.uri.clone()).collect()
    }

    /// A document with what the parsers say about it.
    pub(crate) fn read(&mut self, uri: &Uri) -> Option<(&Document, &Shallow)> {
        let key = uri.as_str();
        if self.open.get(key)?.shallow.is_none() {
            let of = |d: &Document| (d.path.clone(), d.text.clone());
            let texts = self.open.values().map(of).collect();
            let document = self.open.get_mut(key)?;
            let (diagnostics, index) = match document.language {
                Language::Dve => dve::read(&document.path, &document.text),
                Language::Promela => promela::read(
                    &document.path,
                    &document.text,
                    &self.definitions,
                    &Overlay { texts },
                ),
            };
            document.shallow = Some(Shallow { diagnostics, index });
        }
        let document = self.open.get(key)?;
        Some((document, document.shallow.as_ref()?))
    }

    /// Takes what the analyst found; what it says about an older text counts only as far as
    /// there is nothing better.
    pub(crate) fn found(&mut self, uri: &Uri, version: i32, findings: Findings) -> bool {
        let Some(document) = self.open.get_mut(uri.as_str()) else {
            return false;
        };
        if let Some(ranges) = findings.ranges {
            document.ranges = ranges;
        }
        let current = document.version == version;
        if current {
            document.deep = Some(findings.diagnostics);
        }
        current
    }
}
