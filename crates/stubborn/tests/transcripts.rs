//! Sessions on the command line, word for word: the files in `tests/cmd`.
//!
//! After a change of the output, `TRYCMD=overwrite cargo test -p stubborn --test all transcripts::`
//! writes them anew; look at the difference before you keep it.

#[test]
fn sessions() {
    trycmd::TestCases::new().case("tests/cmd/*.trycmd");
}
