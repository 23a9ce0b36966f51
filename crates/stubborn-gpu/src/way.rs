//! The way to a state that a search has found.
//!
//! The search keeps no parents. A second run to the known depth copies its levels to the host's
//! memory, as many of the last ones as fit; then, from the end back, a kernel looks for a state of
//! the level before that has the wanted one as a successor. Where not all levels fit, this is
//! repeated from where it got to. (See `docs/decisions/0003-no-parent-pointers.md`.)

use crate::device::{Argument, Device};
use crate::search::{self, Hit, Options};
use crate::{Compiled, Failure};

/// Bytes for levels where nobody says.
const LOG_BYTES: usize = 4 << 30;
/// Where `kernels.cl` puts the number of the state that was found.
const HIT: usize = 11;
const EACH: usize = 16;

/// The states on a shortest way to a hit, the initial one first; `None` if a limit was reached.
pub(crate) fn find(
    device: &Device,
    compiled: &Compiled,
    hit: &Hit,
    options: &Options<'_>,
) -> Result<Option<Vec<u32>>, Failure> {
    let words = compiled.translation.packing.words;
    let mut back = vec![hit.packed.clone()];
    let mut depth = hit.depth;
    let finder = device.build(&compiled.source, &format!("{} -DFIND", compiled.options))?;
    let kernel = finder.kernel("level")?;
    while depth > 0 {
        let most = options.log.unwrap_or(LOG_BYTES);
        let again = Options {
            stop: stubborn_search::Stop::Never,
            observer: None,
            ..*options
        };
        let (outcome, log) = search::run_until(device, compiled, &again, Some((depth, most)))?;
        let Some(log) = log.filter(|_| outcome.end == stubborn_search::End::Violation) else {
            return Ok(None);
        };
        for (level, states) in log.levels.iter().rev() {
            let count = states.len() / words;
            let queue = device.buffer(8 * states.len() as u64)?;
            let counts = device.buffer(8 * 2 * EACH as u64)?;
            let wanted = device.buffer(8 * words as u64)?;
            device.write(&queue, 0, states)?;
            device.write(&wanted, 0, &back[back.len() - 1])?;
            let mut numbers = [0; 2 * EACH];
            numbers[0] = count as u64;
            numbers[EACH + HIT] = u64::from(u32::MAX);
            device.write(&counts, 0, &numbers)?;
            let (queue, counts) = (&queue, &counts);
            let table = Argument::Buffer(queue);
            kernel.set(
                0,
                &[
                    table,
                    table,
                    Argument::Long(count as u64),
                    Argument::Buffer(counts),
                ],
            )?;
            kernel.set(
                4,
                &[
                    Argument::Int(0),
                    Argument::Int(0),
                    Argument::Buffer(&wanted),
                    Argument::Long(*level),
                ],
            )?;
            kernel.set(
                8,
                &[
                    table,
                    table,
                    table,
                    table,
                    Argument::Long(1),
                    Argument::Long(1),
                    table,
                    Argument::Long(1),
                    Argument::Int(1),
                    Argument::Int(1),
                ],
            )?;
            let groups = count
                .div_ceil(compiled.group)
                .min(device.info().units as usize * 16);
            device.queue(&kernel, groups, compiled.group)?;
            device.read(counts, 0, &mut numbers)?;
            let at = numbers[EACH + HIT] as usize;
            if at >= count {
                return Err(Failure::Gave(
                    "no way leads to a state that the card has found: this is a bug, please report it",
                ));
            }
            back.push((0..words).map(|word| states[word * count + at]).collect());
            depth = *level;
        }
    }
    let packing = &compiled.translation.packing;
    let states = back.iter().rev();
    Ok(Some(
        states
            .flat_map(|packed| packing.unpack(&compiled.narrow, &compiled.model, packed))
            .collect(),
    ))
}
