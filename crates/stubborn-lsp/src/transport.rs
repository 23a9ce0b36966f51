//! Messages on a pair of streams: the base protocol of the specification.
//!
//! Nothing that an editor sends ends the server. What is not a message is refused with an error
//! reply, as JSON-RPC 2.0 says, and the next message is read. A length that cannot be true leaves
//! unknown where the next message begins: the reader then looks for the next `Content-Length`.
//!
//! Editors send half of a surrogate pair as an escape (`\ud83d`) where an edit splits a
//! character, and JSON has no text for that. Each half becomes U+FFFD, which is as long in UTF-16,
//! so that positions stay right.

use std::io::{self, BufRead, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use crossbeam_channel::bounded;
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, RequestId};
use serde_json::{Value, json};

/// Bytes of the longest message that is read. Memory is taken as bytes come.
pub const LONGEST_MESSAGE: u64 = 256 << 20;

/// Bytes of a header line; of a longer one, only the end counts.
const LONGEST_LINE: usize = 4096;

const LENGTH: &str = "content-length:";

/// Why something is not a message: an error reply.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// Of the request, if it is known; else null.
    pub id: Value,
    /// Of JSON-RPC.
    pub code: i32,
    /// In words.
    pub message: String,
}

impl Refusal {
    fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            id: Value::Null,
            code: code as i32,
            message: message.into(),
        }
    }

    fn write(&self, output: &mut impl Write) -> io::Result<()> {
        let error = json!({ "code": self.code, "message": self.message });
        let reply = json!({ "jsonrpc": "2.0", "id": self.id, "error": error }).to_string();
        write!(output, "Content-Length: {}\r\n\r\n{reply}", reply.len())?;
        output.flush()
    }
}

/// Reads messages.
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    /// Where the next message begins is not known.
    is_lost: bool,
    /// A line that is no header, and may be the end of something with a header behind it.
    again: Option<Vec<u8>>,
}

impl<R: BufRead> Reader<R> {
    /// From the beginning of a message.
    pub fn new(input: R) -> Self {
        Self {
            input,
            is_lost: false,
            again: None,
        }
    }

    /// The next message, or why it is none; nothing at the end of the stream.
    ///
    /// # Errors
    /// If the stream cannot be read.
    pub fn read(&mut self) -> io::Result<Option<Result<Message, Refusal>>> {
        loop {
            let length = match self.header()? {
                None => return Ok(None),
                Some(Err(refusal)) => return Ok(Some(Err(refusal))),
                Some(Ok(length)) => length,
            };
            let mut body = Vec::new();
            self.input.by_ref().take(length).read_to_end(&mut body)?;
            if (body.len() as u64) < length {
                return Ok(None);
            }
            match parse(&body) {
                Ok(None) => {}
                Ok(Some(message)) => return Ok(Some(Ok(message))),
                Err(refusal) => {
                    // The length may have been wrong.
                    self.is_lost = refusal.code == ErrorCode::ParseError as i32;
                    return Ok(Some(Err(refusal)));
                }
            }
        }
    }

    /// The length of the message that follows; nothing at the end of the stream.
    fn header(&mut self) -> io::Result<Option<Result<u64, Refusal>>> {
        let mut length = None;
        let mut is_first = true;
        loop {
            let Some(bytes) = self.line()? else {
                return Ok(None);
            };
            let line = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
            let line = line.trim_end();
            match line.rfind(LENGTH) {
                Some(at) if at == 0 || self.is_lost => {
                    let value = line[at + LENGTH.len()..].trim();
                    length = value.parse().ok().filter(|l| *l <= LONGEST_MESSAGE);
                    self.is_lost = length.is_none();
                    if self.is_lost {
                        let beginning: String = value.chars().take(40).collect();
                        let what = format!(
                            "the length of a message is a number of bytes up to {LONGEST_MESSAGE}, not \
                             `{beginning}`"
                        );
                        return Ok(Some(Err(Refusal::new(ErrorCode::InvalidRequest, what))));
                    }
                }
                None if self.is_lost || is_header(line) => {}
                None if line.is_empty() && length.is_some() => return Ok(length.map(Ok)),
                None if line.is_empty() && is_first => {}
                _ => {
                    self.is_lost = true;
                    self.again = Some(bytes);
                    let what = "a message begins with `Content-Length: `, its number of bytes, and an \
                                empty line";
                    return Ok(Some(Err(Refusal::new(ErrorCode::InvalidRequest, what))));
                }
            }
            is_first &= line.is_empty();
        }
    }

    /// The next line with its end; of a long one, the end. Nothing at the end of the stream.
    fn line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        if let Some(again) = self.again.take() {
            return Ok(Some(again));
        }
        loop {
            let room = LONGEST_LINE as u64;
            let read = self
                .input
                .by_ref()
                .take(room)
                .read_until(b'\n', &mut line)?;
            if line.ends_with(b"\n") {
                return Ok(Some(line));
            }
            if read == 0 {
                return Ok(None);
            }
            // What is looked for may lie across pieces.
            line.drain(..line.len().saturating_sub(LONGEST_LINE));
        }
    }
}

fn is_header(line: &str) -> bool {
    line.split_once(':').is_some_and(|(name, _)| {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-';
        !name.is_empty() && name.chars().all(is_name)
    })
}

/// A message, or nothing that anybody waits for.
fn parse(body: &[u8]) -> Result<Option<Message>, Refusal> {
    let text = String::from_utf8_lossy(body);
    let value: Value = serde_json::from_str(&without_lone_surrogates(&text)).map_err(|error| {
        Refusal::new(ErrorCode::ParseError, format!("this is not JSON: {error}"))
    })?;
    let Value::Object(mut fields) = value else {
        let what = if value.is_array() {
            "several messages at once are not part of the protocol: send one after the other"
        } else {
            "a message is a JSON object"
        };
        return Err(Refusal::new(ErrorCode::InvalidRequest, what));
    };
    let id = fields.remove("id");
    let params = fields.remove("params").unwrap_or_default();
    let method = match fields.remove("method") {
        Some(Value::String(method)) => method,
        // An answer to a request of the server.
        None if fields.contains_key("result") || fields.contains_key("error") => {
            fields.extend(id.map(|id| ("id".to_owned(), id)));
            let response = serde_json::from_value(Value::Object(fields));
            return Ok(response.ok().map(Message::Response));
        }
        _ => {
            let refusal = Refusal::new(ErrorCode::InvalidRequest, "a message names its `method`");
            return Err(refused_request(refusal, id));
        }
    };
    let Some(id) = id else {
        let notification = Notification { method, params };
        return Ok(Some(Message::Notification(notification)));
    };
    match serde_json::from_value::<RequestId>(id.clone()) {
        Ok(id) => Ok(Some(Message::Request(Request { id, method, params }))),
        Err(_) => {
            let what = "the `id` of a request is a text, or an integer of 32 bits";
            let refusal = Refusal::new(ErrorCode::InvalidRequest, what);
            Err(refused_request(refusal, Some(id)))
        }
    }
}

fn refused_request(refusal: Refusal, id: Option<Value>) -> Refusal {
    let is_id = |id: &Value| id.is_number() || id.is_string();
    Refusal {
        id: id.filter(is_id).unwrap_or_default(),
        ..refusal
    }
}

/// JSON with U+FFFD for each escape of half a surrogate pair.
fn without_lone_surrogates(text: &str) -> std::borrow::Cow<'_, str> {
    let bytes = text.as_bytes();
    let escaped = |at: usize| {
        let digits = text.get(at + 2..at + 6)?;
        let is_escape = bytes[at..].starts_with(b"\\u");
        let is_number = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        (is_escape && is_number)
            .then(|| u16::from_str_radix(digits, 16).ok())
            .flatten()
    };
    let (mut mended, mut copied, mut at) = (String::new(), 0, 0);
    // Outside of texts, JSON has no backslashes.
    while let Some(next) = text.get(at..).and_then(|rest| rest.find('\\')) {
        at += next;
        at += match escaped(at) {
            Some(0xd800..=0xdbff) if matches!(escaped(at + 6), Some(0xdc00..=0xdfff)) => 12,
            Some(0xd800..=0xdfff) => {
                mended.push_str(&text[copied..at]);
                mended.push('\u{fffd}');
                copied = at + 6;
                6
            }
            // What is escaped may be a backslash.
            _ => 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8),
        };
    }
    match copied {
        0 => text.into(),
        _ => (mended + &text[copied..]).into(),
    }
}

/// The threads that read and write.
pub(crate) struct Threads(JoinHandle<io::Result<()>>, JoinHandle<io::Result<()>>);

impl Threads {
    /// Waits for both.
    pub(crate) fn join(self) -> io::Result<()> {
        let ended = |thread: JoinHandle<io::Result<()>>| {
            let result = thread.join();
            result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        ended(self.0).and(ended(self.1))
    }
}

/// A connection to an editor behind two streams.
pub(crate) fn connect<R, W>(input: R, output: W) -> io::Result<(Connection, Threads)>
where
    R: BufRead + Send + 'static,
    W: Write + Send + 'static,
{
    let (sender, messages) = bounded::<Message>(0);
    let (received, receiver) = bounded(0);
    // Refusals are written by the thread that reads.
    let output = Arc::new(Mutex::new(output));
    let refusals = Arc::clone(&output);
    let reads = move || {
        let mut reader = Reader::new(input);
        while let Some(read) = reader.read()? {
            match read {
                Err(refusal) => {
                    let mut output = refusals.lock().unwrap_or_else(PoisonError::into_inner);
                    refusal.write(&mut *output)?;
                }
                Ok(message) => {
                    let is_exit =
                        matches!(&message, Message::Notification(n) if n.method == "exit");
                    if received.send(message).is_err() || is_exit {
                        break;
                    }
                }
            }
        }
        Ok(())
    };
    let writes = move || {
        for message in messages {
            let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
            message.write(&mut *output)?;
        }
        Ok(())
    };
    let thread = |name: &str| std::thread::Builder::new().name(name.into());
    let threads = Threads(
        thread("reader").spawn(reads)?,
        thread("writer").spawn(writes)?,
    );
    Ok((Connection { sender, receiver }, threads))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_pairs_are_replaced() {
        for (text, expected) in [
            (r#""a\ud83d""#, "\"a\u{fffd}\""),
            (r#""\ude00\ud83d""#, "\"\u{fffd}\u{fffd}\""),
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (r#""\ud83d\ud83d\ude00x""#, "\"\u{fffd}\\ud83d\\ude00x\""),
            (r#""\\ud83d""#, r#""\\ud83d""#),
            (r#""\\\ud83d""#, "\"\\\\\u{fffd}\""),
            (r#""\ud83d\u0041 ç""#, "\"\u{fffd}\\u0041 ç\""),
            (r#""\ud83""#, r#""\ud83""#),
            (r#""\u+d83""#, r#""\u+d83""#),
            ("\\", "\\"),
            ("\\ç\\ud8çç", "\\ç\\ud8çç"),
        ] {
            assert_eq!(without_lone_surrogates(text), expected);
        }
    }

    #[test]
    fn a_length_is_found_behind_long_lines() {
        for before in [0, 1, LONGEST_LINE - 7, LONGEST_LINE, 3 * LONGEST_LINE + 5] {
            let body = r#"{"method":"x"}"#;
            let input = format!(
                "?{}Content-Length: {}\r\n\r\n{body}",
                "y".repeat(before),
                body.len()
            );
            let mut reader = Reader::new(input.as_bytes());
            assert!(reader.read().unwrap().unwrap().is_err());
            let message = reader.read().unwrap().unwrap();
            assert!(matches!(message, Ok(Message::Notification(n)) if n.method == "x"));
            assert!(reader.read().unwrap().is_none());
        }
    }
}
