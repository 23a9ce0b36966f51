//! Prints the OpenCL C of a model.
#![allow(clippy::print_stdout)]
#[path = "../tests/support/mod.rs"]
mod support;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("FILE")?;
    let model = support::load(std::path::Path::new(&path));
    let mut program = model.program().clone();
    stubborn_ir::narrow::narrow(&mut program, stubborn_system::System::budget(&*model));
    for v in &program.variables {
        println!(
            "// {} {}..{} {:?} x{}",
            v.name,
            v.item.min,
            v.item.max,
            v.item.overflow,
            v.len.unwrap_or(1)
        );
    }
    println!("{}", stubborn_gpu::Engine::source(&model, &[])?);
    Ok(())
}
