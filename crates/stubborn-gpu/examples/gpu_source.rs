//! Prints the OpenCL C of a model.
#![allow(clippy::print_stdout)]
#[path = "../tests/support/mod.rs"]
mod support;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("FILE")?;
    let model = support::load(std::path::Path::new(&path));
    println!("{}", stubborn_gpu::Engine::source(&model, &[])?);
    Ok(())
}
