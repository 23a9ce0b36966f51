//! Random systems that reductions have something to do on.

use stubborn_ltl::random::Random;
use stubborn_reduce::testing::tiny::Tiny;

/// Processes that mostly mind their own business: each walks around its few locations, now
/// and then looks at another one or at a shared variable, or changes that. The last two
/// labels are propositions about the first process and the shared variable.
pub(crate) fn loose_system(random: &mut Random) -> Tiny {
    let count = 2 + random.below(3);
    let mut sizes: Vec<i64> = (0..count).map(|_| 3 + random.below(3) as i64).collect();
    sizes.push(2);
    let shared = count;
    let mut tiny = Tiny::new(&sizes);
    for process in 0..count {
        let size = sizes[process];
        // Mostly ahead; some processes end, others start again.
        let ends = random.below(2) == 0;
        for step in 0..size - i64::from(ends) {
            let from = step;
            let to = match random.below(8) {
                0 => random.below(size as usize) as i64,
                _ => (from + 1) % size,
            };
            let here = tiny.label("here", &[process], move |v| v[process] == from);
            let mut guards = vec![here];
            if random.below(6) == 0 {
                let other = random.below(count + 1);
                let value = random.below(2) as i64;
                guards.push(tiny.label("other", &[other], move |v| v[other] == value));
            }
            let name = format!("P{process}.{step}");
            if random.below(6) == 0 {
                let value = random.below(2) as i64;
                let writes = [process, shared];
                tiny.simple(&name, &guards, (&[], &writes), move |v| {
                    v[process] = to;
                    v[shared] = value;
                });
            } else {
                tiny.simple(&name, &guards, (&[], &[process]), move |v| v[process] = to);
            }
        }
    }
    tiny.label("p0", &[0], |v| v[0] == 1);
    match random.below(3) {
        0 => tiny.label("p1", &[shared], move |v| v[shared] == 1),
        1 => tiny.label("p1", &[0], |v| v[0] == 0),
        _ => tiny.label("p1", &[1], |v| v[1] == 1),
    };
    tiny
}

/// Two or three processes that hardly know of each other, and as many propositions, each about
/// the place of one of them: the last labels.
#[allow(dead_code, reason = "not every test uses it")]
pub(crate) fn independent_system(random: &mut Random, propositions: usize) -> Tiny {
    let count = 2 + random.below(2);
    let sizes: Vec<i64> = (0..count).map(|_| 2 + random.below(3) as i64).collect();
    let mut tiny = Tiny::new(&sizes);
    for process in 0..count {
        let size = sizes[process];
        let ends = random.below(3) > 0;
        for from in 0..size - i64::from(ends) {
            let to = (from + 1) % size;
            let mut guards = vec![tiny.label("here", &[process], move |v| v[process] == from)];
            if random.below(8) == 0 {
                let other = random.below(count);
                let value = random.below(sizes[other] as usize) as i64;
                guards.push(tiny.label("other", &[other], move |v| v[other] == value));
            }
            let name = format!("P{process}.{from}");
            tiny.simple(&name, &guards, (&[], &[process]), move |v| v[process] = to);
        }
    }
    for proposition in 0..propositions {
        let process = random.below(count);
        let value = random.below(sizes[process] as usize) as i64;
        let from = random.below(2) == 0;
        tiny.label(format!("p{proposition}"), &[process], move |v| match from {
            true => v[process] >= value,
            false => v[process] == value,
        });
    }
    tiny
}

/// Processes that are left alone: some end after a step or two, at least one goes round for ever,
/// and the propositions, the last labels, mostly hold until one of the first kind moves.
#[allow(dead_code, reason = "not every test uses it")]
pub(crate) fn fading_system(random: &mut Random, propositions: usize) -> Tiny {
    let count = 2 + random.below(2);
    let sizes: Vec<i64> = (0..count).map(|_| 2 + random.below(2) as i64).collect();
    let goes_round: Vec<bool> = (0..count)
        .map(|process| process == 0 || random.below(4) == 0)
        .collect();
    let mut tiny = Tiny::new(&sizes);
    // In any order: sets prefer the last of several transitions.
    let first = random.below(count);
    for process in (first..count).chain(0..first) {
        let size = sizes[process];
        for from in 0..size - i64::from(!goes_round[process]) {
            let to = (from + 1) % size;
            let here = tiny.label("here", &[process], move |v| v[process] == from);
            let name = format!("P{process}.{from}");
            tiny.simple(&name, &[here], (&[], &[process]), move |v| v[process] = to);
        }
    }
    for proposition in 0..propositions {
        let process = match random.below(4) {
            0 => random.below(count),
            _ => 1 + random.below(count - 1),
        };
        let last = random.below(sizes[process] as usize) as i64;
        tiny.label(format!("p{proposition}"), &[process], move |v| {
            v[process] <= last
        });
    }
    tiny
}
