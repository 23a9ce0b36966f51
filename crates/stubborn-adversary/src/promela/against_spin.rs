//! Programs against SPIN: counts of states and transitions, and verdicts.

use std::collections::BTreeSet;
use std::path::Path;

use crate::arena::{Arena, Mismatch, Round};
use crate::coverage::Coverage;
use crate::minimise::minimise;
use crate::subject::{Folder, Status, Subject};

use super::answers::{Answer, Verdict, all_features, first_words, note_program};
use super::ast::{Kind, Node, Style};
use super::generate::{Case, Features, case};
use super::spin::{NoAnswer, Search, Spin};

/// More states than this are not compared.
const STATES: &str = "20000";

/// How deep SPIN searches first.
const SHALLOW: &str = "-m2000";

/// More ways than this hardly any atomic sequence has.
const MOST_WAYS: u64 = 32;

/// The arena `spin`.
#[derive(Debug)]
pub struct AgainstSpin {
    features: Features,
    spin: Result<Spin, String>,
}

impl AgainstSpin {
    /// Programs with some of these features.
    pub fn new(features: Features) -> Self {
        // SPIN as it is distributed has no `X`, trusts `xr` and `xs` when it does not reduce, and takes `np_` for
        // false where a run has ended.
        let features = features.less(&["next", "xr", "np_"]);
        Self {
            features,
            spin: Spin::find(),
        }
    }
}

impl Arena for AgainstSpin {
    fn name(&self) -> &'static str {
        "spin"
    }

    fn available(&self) -> Result<(), String> {
        self.spin.clone().map(|_| ())
    }

    fn features(&self) -> Vec<String> {
        let mut all = all_features();
        let absent = ["operator X", "node Xr", "node Xs", "predefined np_"];
        all.retain(|feature| !absent.contains(&feature.as_str()));
        for property in [
            "invalid end",
            "errors",
            "assertions",
            "accept",
            "p0",
            "never",
        ] {
            for verdict in [Verdict::Holds, Verdict::Violated] {
                all.push(format!("verdict {property} {verdict:?}"));
            }
        }
        all
    }

    fn round(&self, seed: u64, subject: &Subject, coverage: &mut Coverage) -> Round {
        let Ok(spin) = self.spin else {
            return Round::default();
        };
        let case = case(seed, &self.features);
        note_program(&case, coverage);
        let mut judge = Judge::new(spin, subject, &case, coverage);
        let mismatch = judge.judge();
        let comparisons = judge.comparisons;
        let with = |spin: Spin, case: &Case| {
            let mut unused = Coverage::default();
            Judge::new(spin, subject, case, &mut unused).judge()
        };
        let again = |case: &Case| with(spin.careful(), case);
        let confirmed = mismatch.and_then(|found| match again(&case) {
            Some(confirmed) => Some(confirmed),
            None if with(spin, &case).is_some() => {
                coverage.note("skipped mismatches of one C compiler alone");
                None
            }
            // It does not depend on the compiler whether it comes again.
            None => Some(found),
        });
        let mismatch = confirmed.map(|found| {
            let smallest = minimise(case, subject.minimising, |smaller| {
                again(smaller).is_some_and(|mismatch| mismatch.what == found.what)
            });
            again(&smallest).unwrap_or(found)
        });
        Round {
            comparisons,
            mismatch,
        }
    }
}

/// Compares all answers about one program.
struct Judge<'a> {
    spin: Spin,
    subject: &'a Subject,
    case: &'a Case,
    coverage: &'a mut Coverage,
    folder: Folder,
    spin_folder: Folder,
    comparisons: u64,
}

impl<'a> Judge<'a> {
    fn new(spin: Spin, subject: &'a Subject, case: &'a Case, coverage: &'a mut Coverage) -> Self {
        let text = case.program.text(Style::default());
        Self {
            spin,
            subject,
            case,
            coverage,
            folder: subject.folder(&[("m.pml".into(), text)]),
            spin_folder: subject.folder(&[]),
            comparisons: 0,
        }
    }

    fn ask(&self, command: &str, more: &[&str]) -> Answer {
        Answer::ask(self.subject, self.folder.path(), self.case, command, more)
    }

    /// Translates and compiles for SPIN.
    fn prepare(&self, text: &str, flags: &[&str]) -> Result<(), NoAnswer> {
        self.spin
            .translate(self.subject, self.spin_path(), text, self.loss())?;
        self.compile(flags)
    }

    /// The translator's flag if messages are lost.
    fn loss(&self) -> &'static [&'static str] {
        if self.case.message_loss { &["-m"] } else { &[] }
    }

    /// The program as it is counted: what only a formula mentions is part of SPIN's states even if
    /// it is not checked, which is for `_last` alone of importance. (What a never claim mentions is
    /// part of them here, too.)
    fn unclaimed(&self) -> Node {
        let mut program = self.case.program.clone();
        let defines = program.parts.iter();
        let defines = defines.filter(|unit| unit.kind == Kind::Define && unit.mentions("_last"));
        let mut names: Vec<String> = defines.map(|define| define.name.clone()).collect();
        names.push("_last".to_owned());
        // (A label that only a formula mentions is a step of its own, also to SPIN: other formulas stay.)
        let mentions_last = |unit: &Node| names.iter().any(|name| unit.mentions(name));
        (program.parts).retain(|unit| unit.kind != Kind::Ltl || !mentions_last(unit));
        program
    }

    fn compile(&self, flags: &[&str]) -> Result<(), NoAnswer> {
        let claim = i64::from(!flags.contains(&"-DNOCLAIM"));
        let most = self.case.max_processes + claim;
        self.spin
            .compile(self.subject, self.spin_path(), most, flags)
    }

    fn has_priorities(&self) -> bool {
        let program = &self.case.program;
        let started = |n: &Node| n.kind == Kind::Run && n.number > 0;
        let enabled = program.mentions("enabled");
        enabled
            || program.has(Kind::Priority)
            || program.has(Kind::SetPriority)
            || program.any(&mut |n| started(n))
    }

    /// How many processes and claims ask whether somebody could move, or two if it may be several.
    fn askers(&self) -> usize {
        let units = self.case.program.parts.iter();
        let asking = units.filter(|unit| unit.mentions("enabled"));
        let many = |unit: &Node| unit.kind == Kind::Process && ![-1, 1].contains(&unit.number);
        // What is written once may be used by all.
        let shared = |unit: &Node| [Kind::Inline, Kind::Define].contains(&unit.kind);
        asking
            .map(|unit| 1 + usize::from(many(unit) || shared(unit)))
            .sum()
    }

    fn spin_path(&self) -> &Path {
        self.spin_folder.path()
    }

    /// Not deeper than most need, or else as deep as it goes: SPIN clears a stack of that size first.
    fn search(&self, arguments: &[&str]) -> Result<Search, NoAnswer> {
        let to = |depth: &str| {
            let mut arguments: Vec<String> = arguments.iter().map(|a| (*a).to_owned()).collect();
            arguments.push(depth.to_owned());
            self.spin.search(self.subject, self.spin_path(), &arguments)
        };
        match to(SHALLOW) {
            Ok(search) if search.complete => Ok(search),
            _ => to(self.depth()),
        }
    }

    /// How deep SPIN searches: steps inside of atomic sequences are on its stack.
    fn depth(&self) -> &'static str {
        let long = |node: &Node| node.kind == Kind::Number && node.number >= 1000;
        match self.case.program.any(&mut |node| long(node)) {
            true => "-m1000000",
            false => "-m50000",
        }
    }

    fn judge(&mut self) -> Option<Mismatch> {
        let found = self.judge_answers()?;
        if found.what.starts_with("crash") {
            return Some(found);
        }
        let Some(fault) = self.fault(&found.expected) else {
            return Some(found);
        };
        self.coverage.note(&format!("explained by {fault}"));
        None
    }

    /// A fault of SPIN's that explains any difference, whatever it is: see "Where SPIN is wrong" in
    /// `docs/promela.md`.
    fn fault(&self, said: &str) -> Option<&'static str> {
        let program = &self.case.program;
        if program.any(&mut |node| moves_its_channel(node)) {
            return Some("receives that change their channel");
        }
        let asserts = |node: &Node| node.kind == Kind::DStep && node.has(Kind::Assert);
        let rendez_vous = |node: &Node| node.kind == Kind::Channel && node.number == 0;
        let hands_over = program.any(&mut |node| rendez_vous(node));
        if hands_over
            && program.any(&mut |node| asserts(node))
            && said.contains("assertion violated")
        {
            return Some("assertions that fail in a d_step beside a rendez-vous");
        }
        if hands_over && program.any(&mut |node| looks_while_receiving(node)) {
            return Some("receivers that look into rendez-vous channels");
        }
        if self.has_priorities() && program.any(&mut |node| chooses_by_enabled(node)) {
            return Some("choices by enabled() in a d_step");
        }
        let is_claim = |unit: &&Node| [Kind::Never, Kind::Ltl].contains(&unit.kind);
        let mut claims = program.parts.iter().filter(is_claim);
        if claims.any(|claim| claim.mentions("_nr_pr"))
            && program.mentions("timeout")
            && said.contains("acceptance cycle")
        {
            return Some("claims that count processes beside timeout");
        }
        None
    }

    fn judge_answers(&mut self) -> Option<Mismatch> {
        let explored = self.ask("explore", &["--por", "none", "--max-states", STATES]);
        if let Some(found) = self.judge_run(&explored) {
            return found;
        }
        // With priorities, SPIN's mask of unused bytes hides local bits. It is needed for cycles.
        let flags = ["-DSAFETY", "-DNOCLAIM", "-DNOFAIR", "-DNOCOMP"];
        let text = self.unclaimed().text(Style::default());
        let prepared = self.prepare(&text, &flags);
        let search = match prepared.and_then(|()| self.search(&[])) {
            Ok(search) => search,
            Err(NoAnswer::Refused(why)) => return self.judge_refusal(&explored, &why),
            Err(NoAnswer::Unknown(why)) => {
                self.coverage.note(&format!("no-answer {}", reason(&why)));
                return None;
            }
        };
        if explored.refused() {
            self.comparisons += 1;
            let what = format!("refused: {}", first_words(&explored.run.stderr));
            return Some(explored.mismatch(self.case, &what, &search.summary()));
        }
        // To SPIN, this is an error in the model; it has a meaning, though.
        if search.count("enabled(pid=thisproc)") > 0 {
            self.coverage.note("skipped enabled() of the own process");
            return None;
        }
        // Where it asks about somebody who asks, SPIN executes what it should only test; where it
        // asks about an `else`, it looks at the options of the one who asks.
        let asks = self.askers();
        if asks > 1 || asks == 1 && self.case.program.has(Kind::Else) {
            self.coverage
                .note("skipped enabled() of who asks, or of else");
            return None;
        }
        // Whether an escape that fails keeps the main part from moving is left open, and whether
        // a process of high priority does that others have to wait for.
        let waited_for = self.case.program.has(Kind::Unless) || self.has_priorities();
        if search.failing > 0 && waited_for {
            self.coverage
                .note("skipped steps that fail where others wait");
            return None;
        }
        let checked = self.ask("check", &["--por", "none", "--acceptance"]);
        // SPIN stops at messages with too many fields, and goes on where a `provided` clause fails,
        // outside of any step. All that is to be asked is whether something is reported, and the
        // second only if the process could move otherwise.
        let fields = search.count("fields in r") > 0;
        if fields || search.count("step fails") > search.failing {
            if let Some(found) = self.judge_run(&checked) {
                return found;
            }
            self.coverage
                .note("skipped after wrong numbers of fields, or failing provided clauses");
            return self.judge_report(&checked, fields, &search);
        }
        if let Some(found) = self.judge_counts(&explored, &search) {
            return Some(found);
        }
        if let Some(found) = self.judge_run(&checked) {
            return found;
        }
        let found = self.judge_safety(&checked, &search);
        // Without that mask SPIN finds no cycles, and with it, it takes states for equal that are not.
        let unsigned = |n: &Node| n.kind == Kind::Type && n.name == "unsigned";
        if self.has_priorities() && self.case.program.any(&mut |n| unsigned(n)) {
            self.coverage
                .note("skipped cycles with unsigned variables and priorities");
            return found;
        }
        let found = found.or_else(|| self.judge_labels(&checked));
        found.or_else(|| self.judge_claims(&checked))
    }

    /// The verdict, if a run says enough by itself.
    fn judge_run(&mut self, answer: &Answer) -> Option<Option<Mismatch>> {
        if let Some(crash) = answer.run.crash() {
            let what = format!("crash: {}", first_words(&crash));
            return Some(Some(answer.mismatch(self.case, &what, "no crash")));
        }
        let skipped = match answer.run.status {
            Status::Timeout => "skipped timeout",
            Status::Over => "skipped at the end",
            Status::Exit(3) => "skipped too many states",
            _ => return None,
        };
        self.coverage.note(skipped);
        Some(None)
    }

    /// Whether an error is reported at all.
    fn judge_report(&mut self, checked: &Answer, must: bool, search: &Search) -> Option<Mismatch> {
        self.comparisons += 1;
        let kinds = ["errors", "assertions"];
        let reported = kinds.map(|kind| checked.verdict(kind) == Verdict::Violated);
        let fine = !must || checked.refused() || reported.contains(&true);
        (!fine).then(|| checked.mismatch(self.case, "nothing reported", &search.summary()))
    }

    fn judge_refusal(&mut self, explored: &Answer, why: &str) -> Option<Mismatch> {
        self.comparisons += 1;
        self.coverage.note("verdict refused");
        if explored.refused() || explained_refusal(why) {
            return None;
        }
        // Who explores is not told of mistakes in formulas.
        if !self.claims().is_empty() && self.ask("check", &[]).refused() {
            return None;
        }
        let what = format!("accepted: {}", reason(why));
        Some(explored.mismatch(self.case, &what, why))
    }

    fn judge_counts(&mut self, explored: &Answer, search: &Search) -> Option<Mismatch> {
        if !search.complete || !explored.complete() {
            self.coverage.note("skipped incomplete");
            return None;
        }
        self.comparisons += 1;
        // There is one state for all that fails.
        let failed = u64::from(search.failing > 0);
        // An `else` beside a guard that fails does so, too; SPIN does not come to it. A step that
        // fails in an atomic sequence is counted for each way through it.
        let program = &self.case.program;
        let beside = match (program.has(Kind::Atomic), program.has(Kind::Else)) {
            (true, _) => search.failing * MOST_WAYS,
            (false, true) => search.failing,
            (false, false) => 0,
        };
        // Ways through a long atomic sequence that meet are one from there on.
        let long = |node: &Node| node.kind == Kind::Number && node.number >= 200;
        let (long, edges) = (self.case.program.any(&mut |node| long(node)), search.edges);
        let met = if long {
            edges.saturating_sub(search.states)
        } else {
            0
        };
        let counts = [
            ("states", search.states + failed, 0, 0),
            ("transitions", edges + search.failing, met, beside),
            ("invalid_ends", search.count("invalid end state"), 0, 0),
        ];
        for (name, expected, fewer, more) in counts {
            let number = explored.number(name);
            let range = expected - fewer..=expected + more;
            if !number.is_some_and(|number| range.contains(&number)) {
                let expected = format!("{name} {expected}\n{}", search.summary());
                return Some(explored.mismatch(self.case, &format!("number of {name}"), &expected));
            }
        }
        None
    }

    /// Whether a verdict is SPIN's. What SPIN did not find before a limit may be there.
    fn compare(
        &mut self,
        answer: &Answer,
        name: &str,
        violated: bool,
        search: &Search,
    ) -> Option<Mismatch> {
        let expected = Verdict::of(violated);
        let temporal = !["invalid end", "errors", "assertions"].contains(&name);
        let complete = search.complete && !(temporal && self.has_priorities());
        if expected == Verdict::Holds && !complete {
            return None;
        }
        // Here, a run that ends because every step fails stays where it is, as any run that ends.
        if temporal && expected == Verdict::Holds && search.failing > 0 && answer.ends() {
            return None;
        }
        if let Some(found) = self.judge_run(answer) {
            return found;
        }
        self.comparisons += 1;
        self.coverage.note(&format!("verdict {name} {expected:?}"));
        let got = answer.verdict(name);
        if got == expected {
            return None;
        }
        if got == Verdict::Violated && self.is_not_noticed(answer, name) {
            self.coverage
                .note("explained by what SPIN does not look at");
            return None;
        }
        // SPIN's automaton of a formula is another one, and may ask for a value where ours does not.
        let [others @ .., fails] = VIOLATES_CLAIM;
        let is_asked = search.count(fails) > 0 && others.iter().all(|m| search.count(m) == 0);
        if name.starts_with('p') && got == Verdict::Holds && is_asked {
            self.coverage
                .note("explained by what only SPIN's automaton asks for");
            return None;
        }
        // SPIN does not notice that it goes around inside of an atomic sequence, but for the depth that it comes
        // to, and counts that as an infinite run. Here the sequence is one step, or an error if it never ends.
        let stays_inside = !search.complete && self.case.program.has(Kind::Atomic);
        if temporal && got == Verdict::Holds && stays_inside {
            self.coverage
                .note("explained by runs that stay inside of an atomic sequence");
            return None;
        }
        let kind = if name.starts_with('p') { "ltl" } else { name };
        let what = format!("{kind}: {got:?} instead of {expected:?}");
        let expected = format!("{name}: {expected:?}\n{}", search.summary());
        Some(answer.mismatch(self.case, &what, &expected))
    }

    /// Whether a violation is one that SPIN does not look for: a receive that leaves the message
    /// and has too few fields; a proposition without a value in a state where its translation of
    /// the formula does not ask for it. That there is such a state must be what SPIN says, too.
    fn is_not_noticed(&self, answer: &Answer, name: &str) -> bool {
        let properties = answer.properties().into_iter().flatten();
        let Some(property) = properties.into_iter().find(|p| p["name"] == name) else {
            return false;
        };
        if name == "assertions" {
            let steps = property["trace"]["stem"].as_array();
            let problems = steps.and_then(|steps| steps.last()?["problems"].as_array());
            return problems.is_some_and(|problems| {
                let text = problems.iter().filter_map(|problem| problem.as_str());
                let mut wrong = text.filter(|text| text.contains("the number of fields differs"));
                wrong.any(|text| text.contains("?<"))
            });
        }
        let Some(proposition) = property["failure"]["proposition"].as_str() else {
            return false;
        };
        let mut program = self.case.program.clone();
        let claims = [Kind::Ltl, Kind::Never];
        program.parts.retain(|unit| !claims.contains(&unit.kind));
        let mut text = program.text(Style { claim: true });
        text.push_str(&format!(
            "never {{ S: if :: ({proposition}) -> goto S :: else -> goto S fi }}\n"
        ));
        let folder = self.subject.folder(&[]);
        let made = self
            .spin
            .translate(self.subject, folder.path(), &text, self.loss());
        let most = self.case.max_processes + 1;
        let made = made.and_then(|()| self.spin.compile(self.subject, folder.path(), most, &[]));
        let arguments = ["-a".to_owned(), self.depth().to_owned()];
        let search = made.and_then(|()| self.spin.search(self.subject, folder.path(), &arguments));
        search.is_ok_and(|search| search.count("claim fails") > 0)
    }

    /// As [`Self::compare`], for fair runs. SPIN's search for them overlooks some (that end, that wait
    /// for a `provided` clause, and some cycles), and finds some that are none: ends at which somebody
    /// can move, runs that are not even there without fairness.
    fn compare_fair(
        &mut self,
        answer: &Answer,
        name: &str,
        violated: bool,
        search: &Search,
        unfair: &Answer,
    ) -> Option<Mismatch> {
        let overlooked = !violated;
        let stutters = search.count("stutter") > 0 && search.count("acceptance cycle") == 0;
        let invented = violated && (stutters || unfair.verdict(name) == Verdict::Holds);
        // Here, who can only take steps that fail is not able to move.
        let open = search.failing > 0;
        match overlooked || invented || open {
            true => None,
            false => self.compare(answer, name, violated, search),
        }
    }

    fn judge_safety(&mut self, checked: &Answer, search: &Search) -> Option<Mismatch> {
        if checked.refused() {
            // One of the claims, see there.
            return None;
        }
        let ends = search.count("invalid end state") > 0;
        let found = self.compare(checked, "invalid end", ends, search);
        let found = found.or_else(|| self.compare(checked, "errors", search.failing > 0, search));
        // SPIN says so in other words of messages that have too few fields, and of traces.
        let wrong = [
            "assertion violated",
            "too few parameters",
            "missing pars",
            "event_trace",
        ];
        let wrong = wrong.iter().any(|message| search.count(message) > 0);
        found.or_else(|| self.compare(checked, "assertions", wrong, search))
    }

    /// Cycles through labels of processes, without a claim.
    fn judge_labels(&mut self, checked: &Answer) -> Option<Mismatch> {
        let labelled = |start: &str| {
            let mut label = |n: &Node| n.kind == Kind::Label && n.name.starts_with(start);
            let mut process = |n: &Node| n.kind == Kind::Process && n.any(&mut label);
            self.case.program.any(&mut process)
        };
        let (accept, progress) = (labelled("accept"), labelled("progress"));
        let mut found = None;
        if accept && self.compile(&["-DNOCLAIM"]).is_ok() {
            // There are assertions about labels, too.
            let cycles = |search: &Search| {
                search.count("acceptance cycle") + search.count("accept stutter") > 0
            };
            if let Ok(search) = self.search(&["-a"]) {
                let differs = cycles(&search) && checked.verdict("accept") == Verdict::Holds;
                match differs && self.passes_label(&cycles) {
                    true => {
                        (self.coverage).note("skipped accept labels inside of atomic sequences")
                    }
                    false => found = self.compare(checked, "accept", cycles(&search), &search),
                }
            }
            if let (None, Ok(search)) = (&found, self.search(&["-a", "-f"])) {
                let arguments = ["--acceptance", "--property", "accept", "--fairness"];
                let fair = self.ask("check", &arguments);
                found = self.compare_fair(&fair, "accept", cycles(&search), &search, checked);
            }
        }
        // Here, too, SPIN counts a claim as a process.
        if found.is_none()
            && progress
            && !self.case.program.mentions("_nr_pr")
            && let (Ok(()), Ok(search)) = (self.compile(&["-DNP"]), self.search(&["-l"]))
        {
            let formula = "[] <> !np_";
            let arguments = ["--only", "--ltl", formula, "--finite-runs", "ignore"];
            let answer = self.ask("check", &arguments);
            let cycles = search.count("non-progress cycle") > 0;
            found = self.compare(&answer, formula, cycles, &search);
        }
        found
    }

    /// Whether SPIN finds a cycle only because of `accept` labels inside of atomic sequences: nobody stops at
    /// those that a sequence goes through, but SPIN sees some of them all the same.
    fn passes_label(&self, cycles: &dyn Fn(&Search) -> bool) -> bool {
        let mut inside = BTreeSet::new();
        self.case.program.each(&mut |node| {
            if node.kind == Kind::Atomic {
                node.each(&mut |n| {
                    if n.kind == Kind::Label && n.name.starts_with("accept") {
                        inside.insert(n.name.clone());
                    }
                });
            }
        });
        let mut program = self.case.program.clone();
        rename(&mut program, &inside);
        let folder = self.subject.folder(&[]);
        let text = program.text(Style::default());
        let made = self
            .spin
            .translate(self.subject, folder.path(), &text, self.loss());
        let most = self.case.max_processes;
        let flags = ["-DNOCLAIM"];
        let made =
            made.and_then(|()| (self.spin).compile(self.subject, folder.path(), most, &flags));
        let arguments = ["-a".to_owned(), self.depth().to_owned()];
        let search = made.and_then(|()| self.spin.search(self.subject, folder.path(), &arguments));
        !inside.is_empty() && search.is_ok_and(|search| !cycles(&search))
    }

    /// The names of all claims.
    fn claims(&self) -> Vec<String> {
        let units = self.case.program.parts.iter();
        let claims = units.filter_map(|unit| match unit.kind {
            Kind::Ltl => Some(unit.name.clone()),
            Kind::Never => Some("never".to_owned()),
            _ => None,
        });
        claims.collect()
    }

    fn judge_claims(&mut self, checked: &Answer) -> Option<Mismatch> {
        let claims = self.claims();
        if claims.is_empty() {
            return None;
        }
        let text = self.case.program.text(Style { claim: true });
        // (Another text only where a claim counts as a process.)
        let prepared = match self.unclaimed().text(Style::default()) == text {
            true => self.compile(&[]),
            false => self.prepare(&text, &[]),
        };
        match prepared {
            Ok(()) => {}
            Err(NoAnswer::Refused(why)) => return self.judge_refusal(checked, &why),
            Err(NoAnswer::Unknown(why)) => {
                self.coverage.note(&format!("no-answer {}", reason(&why)));
                return None;
            }
        }
        for name in &claims {
            let spin_name = match name.as_str() {
                "never" => "never_0",
                name => name,
            };
            let search = match self.search(&["-a", "-N", spin_name]) {
                Ok(search) => search,
                Err(NoAnswer::Refused(why) | NoAnswer::Unknown(why)) => {
                    self.coverage.note(&format!("no-answer {}", reason(&why)));
                    continue;
                }
            };
            if checked.refused() {
                self.comparisons += 1;
                let what = format!("refused: {}", first_words(&checked.run.stderr));
                return Some(checked.mismatch(self.case, &what, &search.summary()));
            }
            let found = self.compare(checked, name, violates_claim(&search), &search);
            if found.is_some() {
                return found;
            }
            if let Ok(search) = self.search(&["-a", "-f", "-N", spin_name]) {
                let fair = self.ask("check", &["--property", name, "--fairness"]);
                let found =
                    self.compare_fair(&fair, name, violates_claim(&search), &search, checked);
                if found.is_some() {
                    return found;
                }
            }
        }
        None
    }
}

/// Whether a search along a claim found what the claim forbids, or a proposition that has no
/// value. There are no other assertions in such a search than those of the claim.
fn violates_claim(search: &Search) -> bool {
    VIOLATES_CLAIM
        .iter()
        .any(|message| search.count(message) > 0)
}

const VIOLATES_CLAIM: [&str; 4] = [
    "acceptance cycle",
    "end state in claim",
    "assertion violated",
    "claim fails",
];

/// Whether it is a receive that one of its fields may change the channel of: SPIN looks anew for the channel
/// before each field, and when it undoes the receive.
fn moves_its_channel(node: &Node) -> bool {
    let (Kind::Receive, [channel, fields @ ..]) = (node.kind, node.parts.as_slice()) else {
        return false;
    };
    let mut fields = fields.iter().filter(|field| field.kind == Kind::Place);
    fields.any(|field| channel.mentions(&field.name))
}

/// Whether it is a receive whose `eval` asks how full a channel is: where that is a rendez-vous, the message lies in it
/// then.
fn looks_while_receiving(node: &Node) -> bool {
    let asks = |part: &Node| part.kind == Kind::Eval && part.has(Kind::Function);
    node.kind == Kind::Receive && node.any(&mut |part| asks(part))
}

/// Whether it is a `d_step` in which a conditional expression asks whether somebody is enabled.
fn chooses_by_enabled(node: &Node) -> bool {
    let asks = |part: &Node| part.kind == Kind::Choice && part.mentions("enabled");
    node.kind == Kind::DStep && node.any(&mut |part| asks(part))
}

/// Gives other names to labels, which have no meaning then.
fn rename(node: &mut Node, names: &BTreeSet<String>) {
    if names.contains(&node.name) {
        node.name.insert(0, 'L');
    }
    for part in &mut node.parts {
        rename(part, names);
    }
}

/// Why SPIN refuses, without places and numbers.
fn reason(message: &str) -> String {
    let line = message
        .lines()
        .find(|line| line.contains("rror") || line.contains("pan"));
    let line = line.or_else(|| message.lines().nth(1)).unwrap_or_default();
    let after = line.split("rror: ").nth(1).unwrap_or(line);
    first_words(after)
}

/// Refusals that say something about SPIN only: the program has a meaning.
fn explained_refusal(why: &str) -> bool {
    let explained = [
        // Also where a `break` leaves the loop before a `d_step`.
        "jump into d_step sequence",
        "remote reference in d_step",
        "remote ref to label",
        "remote reference error",
        // Here, an element may be an index of its own array.
        "do not index an array with itself",
        // The parser of formulas knows fewer expressions.
        "tl_spin: expected",
        // A sign after a minus in a formula, which it writes down without a space.
        "saw 'operator: --'",
        // In a first value.
        "remote ref: ",
        // Here, loops that do nothing get a warning.
        "infinite goto loop",
        // Jumps in circles are refused here, too, but in a `d_step`: there they are an endless one.
        "confusing control structure",
        "cannot use 'enabled()' in models with synchronous channels",
        // Names of all mtype sets are numbers.
        "' is type '",
        // By a constant expression, which others may be, too.
        "truncated in assignment",
        // From an element of an array in a record.
        "invalid asgn to chan",
        // Any variable can count, an element of an array or of a record, too.
        "bad index in for-construct",
    ];
    explained.iter().any(|message| why.contains(message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::promela::ast::{node, place, with};

    /// `q?q` and `c[x]?y,x` change where SPIN looks when it goes on, or back; `q?x` and `c[x]?eval(x)` do not.
    #[test]
    fn receives_that_move_are_recognised() {
        let receive = |parts: Vec<Node>| node(Kind::Receive, "", 0, parts);
        let element = |index: &str| node(Kind::Place, "c", 1, vec![place(index)]);
        let eval = with(Kind::Eval, vec![place("x")]);
        for (receive, moves) in [
            (receive(vec![place("q"), place("q")]), true),
            (receive(vec![element("x"), place("y"), place("x")]), true),
            (receive(vec![place("q"), place("x")]), false),
            (receive(vec![element("x"), eval]), false),
        ] {
            assert_eq!(moves_its_channel(&receive), moves, "{receive:?}");
        }
    }

    #[test]
    fn what_spin_loses_is_recognised() {
        let eval = |inner: Node| with(Kind::Eval, vec![inner]);
        let receive = |part: Node| with(Kind::Receive, vec![place("c"), part]);
        let length = node(Kind::Function, "len", 0, vec![place("c")]);
        assert!(looks_while_receiving(&receive(eval(length.clone()))));
        assert!(!looks_while_receiving(&receive(eval(place("x")))));
        assert!(!looks_while_receiving(&eval(length)));
        let enabled = node(Kind::Function, "enabled", 0, vec![place("x")]);
        let choice = with(Kind::Choice, vec![enabled.clone(), place("x"), place("y")]);
        let guarded = |kind, guard: Node| with(kind, vec![with(Kind::Condition, vec![guard])]);
        assert!(chooses_by_enabled(&guarded(Kind::DStep, choice.clone())));
        assert!(!chooses_by_enabled(&guarded(Kind::Atomic, choice)));
        assert!(!chooses_by_enabled(&guarded(Kind::DStep, enabled)));
    }

    /// Labels get other names wherever they are mentioned, and nothing else does.
    #[test]
    fn labels_are_renamed() {
        let label = node(Kind::Label, "accept1", 0, vec![place("accept12")]);
        let at = node(Kind::RemoteLabel, "P", 0, vec![place("accept1")]);
        let mut program = with(Kind::Program, vec![label, at]);
        rename(&mut program, &BTreeSet::from(["accept1".to_owned()]));
        let names = |node: &Node| (node.name.clone(), node.parts[0].name.clone());
        let found: Vec<_> = program.parts.iter().map(names).collect();
        let expected = [("Laccept1", "accept12"), ("P", "Laccept1")];
        let expected = expected.map(|(a, b)| (a.to_owned(), b.to_owned()));
        assert_eq!(found, expected);
    }
}
