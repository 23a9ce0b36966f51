//! Formatting: how far lines are indented, and blanks at their ends. Nothing else is touched: where lines
//! end is up to their author, and so is how what goes on in the next line is aligned.

use stubborn_diagnostics::Span;

use crate::Language;

/// Something that is open, with the indentation of the line that opened it.
struct Open {
    indent: usize,
    /// DVE's `trans`, which a semicolon ends.
    is_list: bool,
}

/// The changes that indent a text by `unit` for each thing that is open: what is replaced, and by what.
pub(crate) fn edits(text: &str, language: Language, unit: &str) -> Vec<(Span, String)> {
    let mut edits = Vec::new();
    let mut formatter = Formatter {
        language,
        open: Vec::new(),
        in_comment: false,
        in_macro: false,
        goes_on: false,
        shift: 0,
    };
    let mut start = 0;
    for whole in text.split_inclusive('\n') {
        let line = whole.trim_end_matches(['\n', '\r']);
        let content = line.trim_matches([' ', '\t']);
        let before = line.len() - line.trim_start_matches([' ', '\t']).len();
        let wanted = formatter.indent(content, &line[..before], unit);
        let end = start + line.len();
        match wanted.filter(|_| !content.is_empty()) {
            Some(wanted) if wanted != line[..before] => {
                edits.push((Span::new(start, start + before), wanted));
            }
            _ => {}
        }
        let after = start + line.trim_end_matches([' ', '\t']).len();
        if after < end {
            edits.push((Span::new(after, end), String::new()));
        }
        start += whole.len();
    }
    edits
}

struct Formatter {
    language: Language,
    open: Vec<Open>,
    in_comment: bool,
    in_macro: bool,
    /// The last line ended in the middle of something.
    goes_on: bool,
    /// By how many columns the last line was moved.
    shift: isize,
}

/// What formatting has to know of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Opens,
    Closes,
    /// Begins a list that a semicolon ends.
    List,
    Semicolon,
    Option,
    Label,
    Comma,
    /// After it, something must follow.
    Operator,
    Other,
}

impl Formatter {
    /// The blanks that a line should begin with; `None` if it is left alone.
    fn indent(&mut self, content: &str, before: &str, unit: &str) -> Option<String> {
        let was_in_comment = self.in_comment;
        let is_macro = self.in_macro || (!was_in_comment && content.starts_with('#'));
        if is_macro {
            self.in_macro = content.ends_with('\\');
            return None;
        }
        let tokens = self.tokens(content);
        let width = width_of(before);
        let unit_width = width_of(unit).max(1);
        if was_in_comment || (self.goes_on && !tokens.is_empty() && !tokens[0].is_end()) {
            // As its author has aligned it, moved as the line before.
            let indent = self.depth(0);
            self.follow(&tokens, indent);
            let columns = width.saturating_add_signed(self.shift);
            return Some(match unit.starts_with('\t') {
                true => "\t".repeat(columns / unit_width) + &" ".repeat(columns % unit_width),
                false => " ".repeat(columns),
            });
        }
        let closing = tokens.iter().take_while(|t| **t == Token::Closes).count();
        let outdented = matches!(tokens.first(), Some(Token::Option | Token::Label));
        let inside = self.depth(closing);
        let indent = inside.saturating_sub(usize::from(outdented));
        self.follow(&tokens, inside);
        let columns = indent * unit_width;
        if !content.is_empty() {
            self.shift = columns as isize - width as isize;
        }
        Some(unit.repeat(indent))
    }

    /// The indentation of a line that begins by closing so much.
    fn depth(&self, closing: usize) -> usize {
        let kept = self.open.len().saturating_sub(closing);
        match (closing, self.open.get(kept), self.open.last()) {
            (1.., Some(closed), _) => closed.indent,
            (0, _, Some(inside)) => inside.indent + 1,
            _ => 0,
        }
    }

    /// What is open after a line.
    fn follow(&mut self, tokens: &[Token], indent: usize) {
        for token in tokens {
            match token {
                Token::Opens | Token::List => self.open.push(Open {
                    indent,
                    is_list: *token == Token::List,
                }),
                Token::Closes => {
                    // A list that was never ended ends with what it is in.
                    while self.open.pop().is_some_and(|open| open.is_list) {}
                }
                Token::Semicolon => {
                    self.open.pop_if(|open| open.is_list);
                }
                _ => {}
            }
        }
        if let Some(last) = tokens.last() {
            let in_list = self.open.last().is_some_and(|open| open.is_list);
            self.goes_on = *last == Token::Operator || (*last == Token::Comma && !in_list);
        }
    }

    /// The tokens of a line; keeps track of comments.
    fn tokens(&mut self, line: &str) -> Vec<Token> {
        let mut tokens = Vec::new();
        let mut rest = line;
        while !rest.is_empty() {
            if self.in_comment {
                let Some((_, after)) = rest.split_once("*/") else {
                    return tokens;
                };
                (self.in_comment, rest) = (false, after);
            } else if rest.starts_with("//") {
                return tokens;
            } else if let Some(after) = rest.strip_prefix("/*") {
                (self.in_comment, rest) = (true, after);
            } else if let Some(quote) = rest.chars().next().filter(|c| matches!(c, '"' | '\'')) {
                let mut escaped = false;
                let end = rest[1..].find(|c: char| {
                    let ends = c == quote && !escaped;
                    escaped = c == '\\' && !escaped;
                    ends
                });
                tokens.push(Token::Other);
                rest = end.map_or("", |end| &rest[end + 2..]);
            } else {
                let (token, length) = self.token(rest, tokens.is_empty());
                tokens.extend(token);
                rest = &rest[length..];
            }
        }
        tokens
    }

    fn token(&self, rest: &str, is_first: bool) -> (Option<Token>, usize) {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let word = &rest[..rest.find(|c| !is_word(c)).unwrap_or(rest.len())];
        if !word.is_empty() {
            let after = rest[word.len()..].trim_start();
            let is_label = is_first && after.starts_with(':') && !after.starts_with("::");
            let token = match (self.language, word) {
                (Language::Promela, "do" | "if") => Token::Opens,
                (Language::Promela, "od" | "fi") => Token::Closes,
                (Language::Promela, _) if is_label => Token::Label,
                (Language::Dve, "trans") => Token::List,
                _ => Token::Other,
            };
            return (Some(token), word.len());
        }
        if rest.starts_with("::") {
            return (Some(Token::Option), 2);
        }
        // A guard ends with it: what follows may stand in a line of its own.
        if rest.starts_with("->") {
            return (Some(Token::Other), 2);
        }
        let first = rest.chars().next().unwrap_or(' ');
        let token = match first {
            '{' | '(' | '[' => Some(Token::Opens),
            '}' | ')' | ']' => Some(Token::Closes),
            ';' => Some(Token::Semicolon),
            ',' => Some(Token::Comma),
            '=' | '+' | '-' | '*' | '/' | '%' | '&' | '|' | '<' | '>' | '^' => {
                Some(Token::Operator)
            }
            c if c.is_whitespace() => None,
            _ => Some(Token::Other),
        };
        // `x++` and `x--` are whole.
        if rest.starts_with("++") || rest.starts_with("--") {
            return (Some(Token::Other), 2);
        }
        (token, first.len_utf8())
    }
}

impl Token {
    /// Whether a line that begins with it is no continuation.
    fn is_end(self) -> bool {
        matches!(self, Self::Closes | Self::Option | Self::Label)
    }
}

/// Columns of blanks; a tab goes to the next multiple of eight.
fn width_of(blanks: &str) -> usize {
    blanks.chars().fold(0, |at, c| match c {
        '\t' => at / 8 * 8 + 8,
        _ => at + 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formatted(text: &str, language: Language, unit: &str) -> String {
        let mut out = text.to_owned();
        for (span, by) in edits(text, language, unit).into_iter().rev() {
            out.replace_range(span.start as usize..span.end as usize, &by);
        }
        out
    }

    #[test]
    fn promela() {
        let text = "mtype = { one,\n          two };\nactive proctype P()\n{\nbyte x;  \nend:\n do\n\
                    :: x < 3 ->\nx++;\nif :: x == 1 -> skip\n  :: else /* if */\nfi\n\
                    :: atomic { x > 3 ->\n // do\nx = x +\n    1\n} od;\n#define A \\\n      do\nx = 1\n}\n";
        let wanted = "mtype = { one,\n          two };\nactive proctype P()\n{\n  byte x;\nend:\n  do\n  \
                      :: x < 3 ->\n    x++;\n    if :: x == 1 -> skip\n    :: else /* if */\n    fi\n  \
                      :: atomic { x > 3 ->\n      // do\n      x = x +\n          1\n  } od;\n#define A \\\n      do\n  x = 1\n}\n";
        let once = formatted(text, Language::Promela, "  ");
        assert_eq!(once, wanted);
        assert_eq!(formatted(&once, Language::Promela, "  "), once);
    }

    #[test]
    fn dve() {
        let text = "byte x;\nprocess P {\nstate a,\n      b;\ninit a;\ntrans\na -> b { guard x < 2;\neffect x = 1; },\n\
                    b -> a {};\n}\n/* one\n   two */\nsystem async;\n";
        let wanted = "byte x;\nprocess P {\n\tstate a,\n\t      b;\n\tinit a;\n\ttrans\n\t\ta -> b { guard x < 2;\n\t\t\t\
                      effect x = 1; },\n\t\tb -> a {};\n}\n/* one\n   two */\nsystem async;\n";
        let once = formatted(text, Language::Dve, "\t");
        assert_eq!(once.replace("\t", "    "), wanted.replace("\t", "    "));
        let again = formatted(&once, Language::Dve, "\t");
        assert_eq!(again, once);
    }

    /// Nothing but blanks at the beginnings and ends of lines changes, whatever the text is.
    #[test]
    fn only_blanks_change() {
        let words = [
            "do", "od", "{", "}", "\"", "/*", "*/", "//", "\n", " ", "trans", ";", "é", "::", "'",
            "\\", "#", "\r\n", "(", "\t",
        ];
        let mut seed = 7u64;
        for _ in 0..2000 {
            let mut text = String::new();
            for _ in 0..30 {
                seed = seed
                    .wrapping_mul(6364136223846793005)
                    .wrapping_add(1442695040888963407);
                text += words[(seed >> 33) as usize % words.len()];
            }
            for language in [Language::Dve, Language::Promela] {
                let out = formatted(&text, language, "    ");
                let lines = |text: &str| -> Vec<String> {
                    text.split('\n')
                        .map(|l| l.trim_matches([' ', '\t', '\r']).to_owned())
                        .collect()
                };
                assert_eq!(lines(&out), lines(&text), "{text:?}");
            }
        }
    }
}
