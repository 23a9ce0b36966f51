//! What models print: texts with holes for values.
//!
//! A hole is `{}` for a decimal number, `{u}` for an unsigned one, `{x}`, `{o}` and `{c}` for a
//! hexadecimal number, an octal number and a character, and `{=a,b,c}` for a name: value 1 is
//! the first name, and a value without a name is shown as a number. `{{` and `}}` are braces.

use std::fmt::Write;

/// The text with its holes filled; holes without a value stay empty.
pub fn filled(text: &str, values: &[i32]) -> String {
    let mut out = String::new();
    let mut values = values.iter().copied();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        out.push_str(&rest[..at]);
        let brace = &rest[at..=at];
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix(brace) {
            out.push_str(brace);
            rest = after;
        } else if brace == "{"
            && let Some((kind, after)) = rest.split_once('}')
        {
            if let Some(value) = values.next() {
                fill(kind, value, &mut out);
            }
            rest = after;
        }
    }
    out + rest
}

fn fill(kind: &str, value: i32, out: &mut String) {
    let _ = match kind {
        "u" => write!(out, "{}", value as u32),
        "x" => write!(out, "{value:x}"),
        "o" => write!(out, "{value:o}"),
        "c" => {
            out.push(char::from(value as u8));
            Ok(())
        }
        _ => {
            let names = kind.strip_prefix('=');
            let place = usize::try_from(value).ok().and_then(|v| v.checked_sub(1));
            let name = names.and_then(|names| names.split(',').nth(place?));
            match name {
                Some(name) => write!(out, "{name}"),
                None => write!(out, "{value}"),
            }
        }
    };
}

/// A text without holes that shows as it is.
pub fn literal(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_filled() {
        assert_eq!(filled("a {} b {x} c {c}", &[-3, 255, 65]), "a -3 b ff c A");
        assert_eq!(filled("{=ack,nak} {=ack,nak}", &[2, 7]), "nak 7");
        assert_eq!(filled("{u} {o}", &[-1, 8]), "4294967295 10");
        assert_eq!(filled("{{}} {}", &[]), "{} ");
        assert_eq!(filled("{ and }", &[1]), "1");
        assert_eq!(filled(&literal("{}{"), &[4]), "{}{");
    }
}
