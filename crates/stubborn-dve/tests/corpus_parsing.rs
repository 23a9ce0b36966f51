//! Every model of the BEEM benchmark, with and without property process, is
//! understood without a single diagnostic.

use crate::support;

#[test]
fn beem_models_have_no_diagnostics() {
    let Some(beem) = support::beem() else { return };
    let mut files = support::models_in(&beem.join("models"));
    files.extend(support::models_in(&beem.join("ltl")));
    assert!(files.len() > 600, "only {} files", files.len());
    let mut complaints = Vec::new();
    for path in files {
        let source = support::read(&path);
        let (model, diagnostics) = stubborn_dve::load(&source);
        if model.is_none() || !diagnostics.is_empty() {
            complaints.push(stubborn_diagnostics::render(&source, &diagnostics, false));
        }
    }
    assert!(
        complaints.is_empty(),
        "{} files: {}",
        complaints.len(),
        complaints.join("\n")
    );
}
