//! The files a model consists of, in one space of offsets.
//!
//! A model is one file and whatever it includes. Spans count bytes over all files, one
//! after the other in the order of reading: the main file starts at 0, so that for a model
//! of one file they are plain offsets into it.
//!
//! A statement out of an inline or a macro stands nowhere in the form in which it is executed. Such
//! texts get offsets behind those of all files; places of them are the places they come from.

use std::path::{Path, PathBuf};

use stubborn_diagnostics::{Diagnostic, SourceFile, Span};

/// Reads the text of included files.
pub trait Loader {
    /// The text of the file at `path`, or why it cannot be had.
    fn load(&self, path: &Path) -> Result<String, String>;
}

/// Reads included files from the file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct FileLoader;

impl Loader for FileLoader {
    fn load(&self, path: &Path) -> Result<String, String> {
        /// Larger files are no models.
        const LIMIT: u64 = 64 << 20;
        let size = std::fs::metadata(path).map_err(|e| e.to_string())?.len();
        if size > LIMIT {
            return Err(format!("it is {size} bytes long"));
        }
        let bytes = std::fs::read(path).map_err(|e| e.to_string())?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// A loader for models that include nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoIncludes;

impl Loader for NoIncludes {
    fn load(&self, _: &Path) -> Result<String, String> {
        Err("this model was not read from a file".into())
    }
}

/// All files of a model.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    files: Vec<File>,
    expansions: Vec<Expansion>,
    /// The first offset that no text has.
    free: u32,
}

/// A text that stands nowhere in this form.
#[derive(Clone, Debug)]
pub(crate) struct Expansion {
    /// Its offsets.
    pub(crate) span: Span,
    pub(crate) text: String,
    /// Where it comes from.
    pub(crate) origin: Span,
}

#[derive(Clone, Debug)]
struct File {
    path: PathBuf,
    base: u32,
    source: SourceFile,
}

/// A place people can look up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file's name as messages show it.
    pub file: String,
    /// Line, counted from 1.
    pub line: u32,
    /// Column in characters, counted from 1.
    pub column: u32,
}

impl Sources {
    /// Adds a file and returns its index; offsets of its text start at [`Self::base`].
    pub(crate) fn add(&mut self, path: &Path, text: String) -> usize {
        let base = self.free;
        self.free = base + text.len() as u32 + 1;
        let source = SourceFile::new(path.display().to_string(), text);
        self.files.push(File {
            path: path.to_path_buf(),
            base,
            source,
        });
        self.files.len() - 1
    }

    /// Adds texts whose offsets begin at [`Self::free`], in order.
    pub(crate) fn add_expansions(&mut self, expansions: Vec<Expansion>) {
        if let Some(last) = expansions.last() {
            self.free = last.span.end + 1;
        }
        self.expansions = expansions;
    }

    /// The first offset that no text has.
    pub(crate) fn free(&self) -> u32 {
        self.free
    }

    fn expansion(&self, offset: u32) -> Option<&Expansion> {
        let after = self.expansions.partition_point(|e| e.span.start <= offset);
        let found = self.expansions.get(after.checked_sub(1)?)?;
        (offset <= found.span.end).then_some(found)
    }

    /// The span itself, or where its text comes from.
    pub fn origin(&self, span: Span) -> Span {
        self.expansion(span.start).map_or(span, |e| e.origin)
    }

    /// The offset itself, or where its text comes from.
    fn real(&self, offset: u32) -> u32 {
        match self.expansion(offset) {
            Some(expansion) if offset == expansion.span.start => expansion.origin.start,
            Some(expansion) => expansion.origin.end,
            None => offset,
        }
    }

    /// Number of files.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// True before the first file was read.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The file at `index`; the main file is 0.
    pub fn file(&self, index: usize) -> &SourceFile {
        &self.files[index].source
    }

    /// Where the file at `index` is.
    pub fn path(&self, index: usize) -> &Path {
        &self.files[index].path
    }

    /// The offset of the first byte of the file at `index`.
    pub fn base(&self, index: usize) -> u32 {
        self.files[index].base
    }

    /// Total size of all texts so far.
    pub(crate) fn total(&self) -> usize {
        self.files
            .last()
            .map_or(0, |f| f.base as usize + f.source.text().len())
    }

    fn file_of(&self, offset: u32) -> Option<&File> {
        let after = self.files.partition_point(|f| f.base <= offset);
        self.files.get(after.saturating_sub(1))
    }

    /// The index of the file that a span begins in, and the span within its text.
    pub fn locate(&self, span: Span) -> Option<(usize, Span)> {
        let span = self.origin(span);
        let after = self.files.partition_point(|f| f.base <= span.start);
        let index = after.checked_sub(1)?;
        let file = &self.files[index];
        let end = file.base + file.source.text().len() as u32;
        let local = Span {
            start: span.start - file.base,
            end: span.end.clamp(file.base, end) - file.base,
        };
        Some((index, local))
    }

    /// File, line and column of an offset.
    pub fn place(&self, offset: u32) -> Place {
        let offset = self.real(offset);
        match self.file_of(offset) {
            Some(file) => {
                let (line, column) = file.source.line_column(offset - file.base);
                Place {
                    file: file.source.name().to_string(),
                    line,
                    column,
                }
            }
            None => Place {
                file: String::new(),
                line: 1,
                column: 1,
            },
        }
    }

    /// The text of a span that lies within one file.
    pub fn slice(&self, span: Span) -> &str {
        if let Some(expansion) = self.expansion(span.start) {
            return &expansion.text;
        }
        self.file_of(span.start).map_or("", |file| {
            let local = Span {
                start: span.start - file.base,
                end: span.end.saturating_sub(file.base),
            };
            file.source.slice(local)
        })
    }

    /// A message as one about a single file: which one, and the message with places in its text. Places
    /// in other files are named in words.
    pub fn about_file(&self, diagnostic: &Diagnostic) -> Option<(usize, Diagnostic)> {
        let (index, span) = self.locate(diagnostic.span)?;
        let mut shown = diagnostic.clone();
        shown.span = span;
        shown.related.clear();
        let mut help: Vec<String> = shown.help.take().into_iter().collect();
        for (span, text) in &diagnostic.related {
            match self.locate(*span) {
                Some((file, span)) if file == index => shown.related.push((span, text.clone())),
                _ => {
                    let Place { file, line, column } = self.place(span.start);
                    help.push(format!("{text}: {file}:{line}:{column}"));
                }
            }
        }
        shown.help = (!help.is_empty()).then(|| help.join("; "));
        Some((index, shown))
    }

    /// All messages as text, each shown in the file it is about.
    pub fn render(&self, diagnostics: &[Diagnostic], colour: bool) -> String {
        let mut out = String::new();
        for diagnostic in diagnostics {
            match self.about_file(diagnostic) {
                Some((file, shown)) => {
                    let source = &self.files[file].source;
                    out.push_str(&stubborn_diagnostics::render(source, &[shown], colour));
                }
                None => out.push_str(&diagnostic.message),
            }
        }
        out
    }
}
