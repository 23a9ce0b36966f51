//! scratch
use stubborn_ltl::{formula::*, hoa::*, parser::*, translate::*, stutter::*};
fn main() {
    let text = std::env::args().nth(1).unwrap();
    let mut fs = Formulas::new();
    let (f, m) = parse(&mut fs, &text, Syntax::Spot, &mut AnyName);
    println!("{m:?}");
    let f = f.unwrap();
    let s = stubborn_ltl::normal::simplify(&mut fs, f).unwrap();
    println!("{}", fs.display(s, Syntax::Spot));
    let o = TranslationOptions{minimise_obligations: std::env::var_os("NOW").is_none(), reduce: std::env::var_os("NOR").is_none(), ..Default::default()};
    let (a, b) = translate_both(&fs, f, &o).unwrap();
    println!("{}{}", write_hoa(&a, None), write_hoa(&b, None));
    if std::env::var_os("STUTTER").is_some() {
    println!("{:?}", are_stutter_invariant(&a,&b));
    }
}
