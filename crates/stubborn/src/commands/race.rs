//! `--engine auto`: the processor begins, and a graphics card joins in.
//!
//! A card is so much faster that it need not take over what the processor has: it starts from the beginning,
//! once a search has lasted for a moment, and its program is compiled meanwhile. Whoever has the answer first
//! stops the other. Where there is no card, or the model is not for it, the processor goes on as if nothing had
//! happened; so does the card, if the memory of the processor is used up.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

/// Searches that end within this time are not worth a card.
const MOMENT: Duration = Duration::from_millis(500);

/// How useful a result is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// It is an answer.
    Answer,
    /// There was too little memory for one.
    OutOfMemory,
    /// There is none, for another reason.
    Nothing,
}

/// Runs both; each is told to stop by a flag.
pub(super) fn race<T: Send, E: Send>(
    processor: impl FnOnce(&AtomicBool) -> Result<T, E>,
    card: impl FnOnce(&AtomicBool) -> Result<T, E> + Send,
    judge: impl Fn(&T) -> Use + Sync,
) -> Result<T, E> {
    let (stop_processor, stop_card) = (AtomicBool::new(false), AtomicBool::new(false));
    let (done, is_done) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let (judge, stop_processor, stop_card) = (&judge, &stop_processor, &stop_card);
        let second = scope.spawn(move || {
            // Nobody sends anything: the other end is dropped when the processor is done.
            if is_done.recv_timeout(MOMENT) != Err(mpsc::RecvTimeoutError::Timeout) {
                return None;
            }
            let found = card(stop_card)
                .ok()
                .filter(|found| judge(found) == Use::Answer);
            stop_processor.store(found.is_some(), Ordering::Relaxed);
            found
        });
        let first = processor(stop_processor);
        let wait = match &first {
            Ok(found) => judge(found) == Use::OutOfMemory,
            Err(_) => false,
        };
        stop_card.store(!wait, Ordering::Relaxed);
        drop(done);
        let second = second.join().ok().flatten();
        match (first, second) {
            // (The processor may have been as quick.)
            (Ok(first), Some(second)) if judge(&first) != Use::Answer => Ok(second),
            (first, _) => first,
        }
    })
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn judge(found: &Option<u32>) -> Use {
        match found {
            Some(0) => Use::OutOfMemory,
            Some(_) => Use::Answer,
            None => Use::Nothing,
        }
    }

    fn wait(stop: &AtomicBool) -> Result<Option<u32>, &'static str> {
        while !stop.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(None)
    }

    #[test]
    fn the_first_answer_counts() {
        let begun = Instant::now();
        let found = race(
            |_| Ok::<_, &str>(Some(1)),
            |_| panic!("nobody needs it"),
            judge,
        );
        assert_eq!(found, Ok(Some(1)));
        assert!(begun.elapsed() < MOMENT, "nobody waits for a card");
        assert_eq!(race(wait, |_| Ok(Some(2)), judge), Ok(Some(2)));
        let slow = |_: &AtomicBool| {
            std::thread::sleep(MOMENT * 2);
            Ok(Some(1))
        };
        assert_eq!(race(slow, wait, judge), Ok(Some(1)));
    }

    #[test]
    fn what_one_cannot_do_is_left_to_the_other() {
        let slow = |_: &AtomicBool| {
            std::thread::sleep(MOMENT * 2);
            Ok(Some(1))
        };
        assert_eq!(race(slow, |_| Err("there is no card"), judge), Ok(Some(1)));
        // A card that is slower than a processor without memory.
        let later = |stop: &AtomicBool| {
            std::thread::sleep(MOMENT * 2);
            Ok(Some(if stop.load(Ordering::Relaxed) { 9 } else { 2 }))
        };
        let short = |_: &AtomicBool| {
            std::thread::sleep(MOMENT + MOMENT / 2);
            Ok::<_, &str>(Some(0))
        };
        assert_eq!(race(short, later, judge), Ok(Some(2)));
        assert_eq!(race(|_| Err("wrong"), wait, judge), Err("wrong"));
    }
}
