//! Fewer enabled transitions than deletion alone finds.
//!
//! Deletion ends with a set of which nothing more can be left out, but another set, which
//! overlaps with it, may be smaller. Finding a smallest one is as hard as the exploration
//! itself; Varpaaniemi, *Minimizing the number of successor states in the stubborn set method*
//! (2002), therefore minimises incompletely, at the cost of one more factor of the number of
//! transitions. In this spirit: for every enabled transition of the best set so far, deletion
//! starts again from all transitions, with that one as the first to go and the others of the
//! best set right after it. A smaller result is the new best set, and so on until there is
//! none. Better for reduction, and expensive: meant for measuring what is left to win.

use crate::deletion::Deletion;
use crate::rows::put;
use crate::view::View;

/// Replaces the set of a finished deletion by a smaller one, if one is found.
pub(crate) fn minimise(deletion: &mut Deletion<'_>, view: &mut View<'_>) {
    let mut best = members(deletion, view);
    let mut order = best.clone();
    loop {
        if best.len() <= 1 {
            break;
        }
        let mut smaller = None;
        for at in 0..best.len() {
            order.clear();
            order.push(best[at]);
            order.extend(best.iter().filter(|t| **t != best[at]));
            let rest = view.facts.enabled_list.iter();
            let mut in_best = vec![0; view.tables.words];
            for t in &best {
                put(&mut in_best, *t);
            }
            order.extend(rest.filter(|t| !crate::rows::has(&in_best, **t)));
            if deletion
                .run_in_order(view, &order)
                .is_some_and(|left| left < best.len())
            {
                smaller = Some(members(deletion, view));
                break;
            }
        }
        match smaller {
            Some(set) => best = set,
            None => break,
        }
    }
    // The last attempt was no better: run the best order once more.
    order.clear();
    let list = &view.facts.enabled_list;
    order.extend(list.iter().filter(|t| !best.contains(t)));
    order.extend(&best);
    deletion.run_in_order(view, &order);
}

fn members(deletion: &Deletion<'_>, view: &View<'_>) -> Vec<u32> {
    let list = view.facts.enabled_list.iter();
    list.filter(|t| deletion.contains(**t)).copied().collect()
}
