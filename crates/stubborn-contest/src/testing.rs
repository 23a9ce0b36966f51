//! Random nets for tests.

use stubborn_net::{Net, NetBuilder};
use stubborn_system::Random;

/// A small net in which most steps keep the number of tokens, so that there are cycles; with
/// read loops, weights, and a few steps that lose or win tokens; in every other one with inhibitor arcs.
pub(crate) fn cyclic_net(random: &mut Random) -> Net {
    let mut builder = NetBuilder::new("random");
    let places: Vec<_> = (0..3 + random.below(6))
        .map(|i| builder.place(&format!("p{i}"), [0, 0, 1, 1, 2][random.below(5)]))
        .collect();
    let inhibitors = random.below(2) == 0;
    for i in 0..2 + random.below(8) {
        let t = builder.transition(&format!("t{i}"));
        while inhibitors && random.below(3) == 0 {
            let weight = [1, 1, 1, 2, 2, 3][random.below(6)];
            builder.inhibitor(places[random.below(places.len())], t, weight);
        }
        let mut place = || places[random.below(places.len())];
        let (from, to, read) = (place(), place(), place());
        let weight = 1 + u32::from(random.below(8) == 0);
        builder.input(from, t, weight);
        match random.below(12) {
            0 => {}
            1 => builder.output(t, to, weight + 1),
            _ => builder.output(t, to, weight),
        }
        if random.below(3) == 0 {
            builder.input(read, t, 1);
            builder.output(t, read, 1);
        }
    }
    builder.build().unwrap()
}
