//! The stable codes of every diagnostic this crate reports.
//!
//! A code never changes its meaning and is never reused. Codes below `DVE030`
//! come from the lexer and the parser, `DVE03x` and `DVE04x` from name
//! resolution, `DVE05x` and `DVE06x` from checks on how names are used, `DVE08x`
//! are warnings, `DVE09x` come from lowering.

/// Declares the codes once: as constants, and as the table that tests and the
/// documentation read.
macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $code:literal;)+) => {
        $($(#[doc = $doc])+ pub const $name: &str = $code;)+

        /// Every code with the sentence that explains it.
        pub const ALL: &[(&str, &str)] = &[$(($code, concat!($($doc),+))),+];
    };
}

codes! {
    /// A character that no DVE token starts with.
    UNEXPECTED_CHARACTER = "DVE001";
    /// A `/*` comment that is never closed; mind that `//` inside it hides the rest of its line.
    OPEN_COMMENT = "DVE002";
    /// A number that does not fit into 32 bits.
    NUMBER_TOO_LARGE = "DVE003";
    /// The text is longer than this front-end accepts.
    INPUT_TOO_LARGE = "DVE004";
    /// So many errors that the rest is not reported.
    TOO_MANY_ERRORS = "DVE005";
    /// A token where another one is expected.
    SYNTAX = "DVE010";
    /// An expression nested too deeply, or a chain of operators that is too long.
    TOO_DEEP = "DVE011";
    /// `!` used as negation: DVE writes `not`.
    EXCLAMATION_NEGATION = "DVE012";
    /// A part of a process or transition that is repeated or comes too late.
    OUT_OF_ORDER = "DVE013";
    /// `system sync`, the lock-step composition, which is not supported.
    SYNCHRONOUS_SYSTEM = "DVE014";
    /// The first transition of a process has no source state that it could repeat.
    NO_SOURCE_STATE = "DVE015";
    /// The model has no process besides the property process.
    NO_PROCESS = "DVE016";
    /// The `system` line is missing.
    NO_SYSTEM = "DVE017";
    /// Text after the `system` line.
    TRAILING_TEXT = "DVE018";
    /// A process without an `init` state.
    NO_INIT = "DVE019";
    /// A probabilistic transition (`=>`), which is not supported.
    PROBABILISTIC = "DVE020";
    /// A process without states.
    NO_STATES = "DVE021";
    /// A name that is not declared.
    UNDECLARED = "DVE030";
    /// A name declared twice in one scope.
    DUPLICATE = "DVE031";
    /// A name that is declared, but as something else than is needed here.
    WRONG_KIND = "DVE032";
    /// `P.s` or `P->x` where P is no process.
    UNKNOWN_PROCESS = "DVE033";
    /// A state that the process does not have.
    UNKNOWN_STATE = "DVE034";
    /// `P->x` outside the property process.
    FOREIGN_VARIABLE = "DVE035";
    /// A variable that the process named before `->` does not have.
    UNKNOWN_MEMBER = "DVE036";
    /// A system process looks at the property process.
    OBSERVES_PROPERTY = "DVE037";
    /// An assignment to, or a receive into, a constant.
    CONSTANT_ASSIGNED = "DVE050";
    /// A receive into, or an assignment to, something that is no variable.
    NOT_ASSIGNABLE = "DVE051";
    /// The uses of a channel disagree about the number of values sent.
    ARITY = "DVE052";
    /// An index on something that is no array.
    NOT_AN_ARRAY = "DVE053";
    /// An array without elements, or more memory than this front-end accepts.
    BAD_SIZE = "DVE054";
    /// A list as the initial value of a scalar, or a single value for an array.
    INITIALISER_SHAPE = "DVE055";
    /// An initial value outside the range of its type.
    INITIALISER_RANGE = "DVE056";
    /// An initial value that cannot be computed.
    INITIALISER_VALUE = "DVE057";
    /// A property process that synchronises or has effects.
    ACTIVE_PROPERTY = "DVE058";
    /// An acceptance condition other than Büchi in the property process.
    ACCEPTANCE = "DVE059";
    /// Warning: a constant index outside its array, which always leads to the error state.
    INDEX_NEVER_VALID = "DVE080";
    /// Warning: a constant outside the range of the variable it is stored in.
    STORE_NEVER_VALID = "DVE081";
    /// So many transitions, or pairs of them on rendezvous channels, that the model is too large.
    TOO_MANY_STEPS = "DVE090";
}

#[cfg(test)]
mod tests {
    use super::ALL;

    #[test]
    fn codes_are_unique_and_sorted() {
        assert!(ALL.windows(2).all(|w| w[0].0 < w[1].0));
    }

    #[test]
    fn the_crate_documentation_lists_every_code() {
        let documentation = include_str!("lib.rs");
        for (code, _) in ALL {
            assert!(
                documentation.contains(code),
                "{code} is missing in the table of lib.rs"
            );
        }
    }
}
