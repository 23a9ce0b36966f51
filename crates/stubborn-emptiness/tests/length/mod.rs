//! How long the long tests are.

/// The long tests take about two minutes together; with `STUBBORN_LENGTH=10` they are ten times
/// as long.
pub(crate) fn length() -> u64 {
    let asked = std::env::var("STUBBORN_LENGTH").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(1)
}
