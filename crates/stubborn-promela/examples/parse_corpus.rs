use std::path::Path;
fn main() {
    let root = Path::new("/work/shared/corpus/promela");
    let tsv = std::fs::read_to_string(root.join("EXPECTED.tsv")).unwrap();
    let (mut ok, mut bad) = (0, 0);
    for line in tsv.lines().skip(2) {
        let mut c = line.split('\t');
        let (file, status) = (c.next().unwrap(), c.next().unwrap());
        let path = root.join(file);
        let Ok(bytes) = std::fs::read(&path) else { println!("MISSING {file}"); continue };
        let text = String::from_utf8_lossy(&bytes);
        let parsed = stubborn_promela::parse(&path, &text, &[], &stubborn_promela::source::FileLoader);
        let errors = stubborn_diagnostics::has_errors(&parsed.diagnostics);
        if (status == "OK") == !errors { ok += 1 } else {
            bad += 1;
            println!("== {file} {status}");
            for d in parsed.diagnostics.iter().take(3) { let p = parsed.sources.place(d.span.start); println!("   {} {}:{}:{} {}", d.code, p.file.rsplit('/').next().unwrap(), p.line, p.column, d.message); }
        }
    }
    println!("{ok} as expected, {bad} not");
}
