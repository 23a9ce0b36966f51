//! No text makes the server panic: models are cut, and words put in and taken out, anywhere.

use super::*;

const MODELS: &[(&str, &str)] = &[
    (
        "file:///m/x.pml",
        "#define F(a,b) a##b\n#if 1\nmtype = { p, q };\n#endif\ntypedef T { byte f[2]; chan c };\n\
         T t[2]; chan k = [2] of { mtype, T };\ninline i(x, y) { x = y; goto l }\n\
         active [2] proctype P(byte n) provided (n < 3) priority 2 {\n  xr k; int v = 300;\n\
         l: do :: k?p,t[1] -> i(v, n) :: atomic { k!q(t[0]) ; F(v,) = 1 } unless { timeout }\n\
         :: else -> d_step { v++ ; select (v : 1 .. 3) } ; break od;\n\
         for (v in t) { printf(\"%d\\n\", (v > 1 -> v : n)) }\n}\n\
         init { run P(1) priority 3; assert(len(k) == 0 && P[1]@l || P[1]:v == 'a') }\n\
         never { do :: np_ :: true od }\nltl f { [] (P[1]@l -> <> !(k ?? [p])) }\n",
    ),
    (
        "file:///m/x.dve",
        "const int N = 3; byte x[3] = {1, 2}; channel c; channel {byte, int} d[2];\n\
         process P { int v = -1; state a, b; init a; commit b; assert a: x[v] > 0 imply not v == 2;\n\
         trans a -> b { guard (x[1] << 2) != ~v; sync c!v; effect v = v + 1, x[0] = N; },\n\
         -> a { sync d?{x[0], v}; }; }\n\
         process W { state s, r; init s; accept r; trans s -> r { guard P.b and P->v == 1; }; }\n\
         system async property W;\n",
    ),
];

/// Splitmix64: the same texts on every machine.
pub(super) fn random(state: &mut u64) -> usize {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 8) as usize
}

const BITS: &[&str] = &[
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ";",
    "::",
    "->",
    "\"",
    "/*",
    "*/",
    "#define A A(",
    "#endif",
    "#if",
    "\n",
    "inline z(a",
    "𝄞",
    "x",
    "T",
    "mtype",
    "typedef",
    "goto",
    "ltl",
    "never",
    "99999999999",
    "..",
    "@",
    "=",
    "!!",
    "??",
    "\\",
    "'",
    "\0",
    "#include \"x.pml\"\n",
    "trans",
    "sync",
    "process P {",
    "system async;",
    "active proctype P() {",
    "do",
    "od",
    "run",
    "const",
    "eval(",
    "c_code { \"",
];

fn mutated(text: &str, state: &mut u64) -> String {
    let mut text = text.to_owned();
    for _ in 0..1 + random(state) % 3 {
        let mut boundary = |text: &str| {
            let mut at = random(state) % (text.len() + 1);
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            at
        };
        let (a, b) = (boundary(&text), boundary(&text));
        match random(state) % 4 {
            0 => text.truncate(a),
            1 => text.replace_range(a.min(b)..(a.min(b) + (a.max(b) - a.min(b)).min(9)), ""),
            2 => text.insert_str(a, BITS[random(state) % BITS.len()]),
            _ => {
                let mut end = (b + 20).min(text.len());
                while !text.is_char_boundary(end) {
                    end -= 1;
                }
                let piece = text[b..end].to_owned();
                text.insert_str(a, &piece);
            }
        }
    }
    text
}

#[test]
fn no_text_makes_it_panic() {
    let mut client = Client::new();
    let mut seed = 7;
    for round in 0..150 {
        for (uri, model) in MODELS {
            let text = mutated(model, &mut seed);
            match round {
                0 => client.open(uri, model),
                _ => client.tell(
                    "textDocument/didChange",
                    json!({
                        "textDocument": { "uri": uri, "version": round },
                        "contentChanges": [{ "text": text }],
                    }),
                ),
            }
            let line = random(&mut seed) % 12;
            let place = json!({ "line": line, "character": random(&mut seed) % 60 });
            for method in [
                "hover",
                "definition",
                "references",
                "documentHighlight",
                "completion",
            ] {
                let answer = client.at(method, uri, place.clone());
                assert!(answer.is_ok(), "{method}: {answer:?}");
            }
            let document = json!({ "textDocument": { "uri": uri } });
            for method in ["documentSymbol", "codeLens"] {
                let answer = client.ask(&format!("textDocument/{method}"), document.clone());
                assert!(answer.is_ok(), "{method}: {answer:?}");
            }
            let mut parameters = json!({ "textDocument": { "uri": uri }, "position": place });
            // Refused or not: it is an answer.
            let _ = client.ask("textDocument/prepareRename", parameters.clone());
            parameters["newName"] = json!("fresh_name");
            let _ = client.ask("textDocument/rename", parameters);
        }
    }
}
