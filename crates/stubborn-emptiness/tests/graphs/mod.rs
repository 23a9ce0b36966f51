//! Random graphs with reduced lists of edges.

use stubborn_ltl::random::Random;

/// The targets of each node, and which of them the reduction keeps.
pub(crate) type Lists = (Vec<Vec<u32>>, Vec<Vec<bool>>);

/// A random graph of one of several styles, with self-loops, double edges and nodes that
/// are full from the start.
pub(crate) fn random_graph(random: &mut Random) -> Lists {
    let count = 3 + random.below(12);
    let style = random.below(8);
    let mut edges = Vec::new();
    let mut kept = Vec::new();
    for node in 0..count {
        let mut targets: Vec<usize> = Vec::new();
        let anywhere =
            |targets: &mut Vec<usize>, least: usize, spread: usize, random: &mut Random| {
                for _ in 0..least + random.below(spread) {
                    targets.push(random.below(count));
                }
            };
        match style {
            0 => anywhere(&mut targets, 0, 5, random),
            1 => {
                targets.push((node + 1) % count);
                anywhere(&mut targets, 0, 3, random);
            }
            2 => {
                for _ in 0..1 + random.below(4) {
                    let step = [-4, -3, -2, -1, 1, 1, 2, 3][random.below(8)];
                    targets.push((node as i64 + step).clamp(0, count as i64 - 1) as usize);
                }
            }
            3 => anywhere(&mut targets, 2, 5, random),
            4 => {
                let ring = node - node % 3;
                targets.push((ring + (node + 1 - ring) % 3).min(count - 1));
                anywhere(&mut targets, 0, 4, random);
            }
            _ => {
                targets.push((node + 1).min(count - 1));
                anywhere(&mut targets, 1, 3, random);
            }
        }
        if random.below(100) < 12 {
            targets.push(node);
        }
        if !targets.is_empty() && random.below(100) < 15 {
            targets.push(targets[random.below(targets.len())]);
        }
        let size = targets.len();
        let mut own = vec![false; size];
        if size > 0 {
            let all = random.below(100) < 12;
            if style == 4 || style >= 5 && random.below(100) < 80 {
                let least = if style == 4 {
                    1
                } else {
                    size.saturating_sub(2).max(1)
                };
                let keep = (least + random.below(3)).min(if style == 4 { 1 } else { size });
                own[..keep].fill(true);
            } else {
                own[random.below(size)] = true;
                for k in &mut own {
                    *k |= random.below(3) == 0;
                }
            }
            if all {
                own.fill(true);
            }
        }
        edges.push(targets.into_iter().map(|t| t as u32).collect());
        kept.push(own);
    }
    (edges, kept)
}
