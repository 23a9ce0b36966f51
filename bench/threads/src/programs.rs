// The programs, for any library with the modules of the standard one. A test of `stubborn-dpor` runs them,
// too.
macro_rules! programs {
    ($name:ident, $($root:ident)::+) => {
        /// The programs with one library.
        pub mod $name {
            use std::sync::Arc;
            use $($root)::+::sync::atomic::{AtomicUsize, Ordering::*};
            use $($root)::+::sync::{Condvar, Mutex, RwLock, mpsc};
            use $($root)::+::thread;

            /// Everybody reads, then writes.
            pub fn lost_update() {
                let n = Arc::new(AtomicUsize::new(0));
                let all: Vec<_> = (0..2).map(|_| { let n = n.clone(); thread::spawn(move || { let v = n.load(SeqCst); n.store(v + 1, SeqCst); }) }).collect();
                all.into_iter().for_each(|t| t.join().unwrap());
                assert_eq!(n.load(SeqCst), 2);
            }
            /// Three threads, two additions each, all in one operation.
            pub fn adders() {
                let n = Arc::new(AtomicUsize::new(0));
                let all: Vec<_> = (0..3).map(|_| { let n = n.clone(); thread::spawn(move || { n.fetch_add(1, SeqCst); n.fetch_add(1, SeqCst); }) }).collect();
                all.into_iter().for_each(|t| t.join().unwrap());
                assert_eq!(n.load(SeqCst), 6);
            }
            /// The same under a lock.
            pub fn locked_adders() {
                let n = Arc::new(Mutex::new(0));
                let all: Vec<_> = (0..3).map(|_| { let n = n.clone(); thread::spawn(move || { *n.lock().unwrap() += 1; *n.lock().unwrap() += 1; }) }).collect();
                all.into_iter().for_each(|t| t.join().unwrap());
                assert_eq!(*n.lock().unwrap(), 6);
            }
            /// Two locks, each thread begins with another one.
            pub fn embrace() {
                let (a, b) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
                let (c, d) = (a.clone(), b.clone());
                let t = thread::spawn(move || { let _x = d.lock().unwrap(); let _y = c.lock().unwrap(); });
                { let _x = a.lock().unwrap(); let _y = b.lock().unwrap(); }
                t.join().unwrap();
            }
            /// Two pairs of threads that have nothing to do with each other.
            pub fn strangers() {
                let all: Vec<_> = (0..2).flat_map(|_| { let n = Arc::new(AtomicUsize::new(0)); (0..2).map(move |_| { let n = n.clone(); thread::spawn(move || { n.fetch_add(1, SeqCst); n.fetch_add(1, SeqCst); }) }) }).collect();
                all.into_iter().for_each(|t| t.join().unwrap());
            }
            /// Waits without looking first: the signal may be gone.
            pub fn missed_signal() {
                let pair = Arc::new((Mutex::new(false), Condvar::new()));
                let other = pair.clone();
                let t = thread::spawn(move || { *other.0.lock().unwrap() = true; other.1.notify_one(); });
                let guard = pair.0.lock().unwrap();
                let guard = pair.1.wait(guard).unwrap();
                assert!(*guard);
                drop(guard);
                t.join().unwrap();
            }
            /// Looks first.
            pub fn signal() {
                let pair = Arc::new((Mutex::new(0), Condvar::new()));
                let all: Vec<_> = (0..2).map(|_| { let other = pair.clone(); thread::spawn(move || { *other.0.lock().unwrap() += 1; other.1.notify_one(); }) }).collect();
                let mut guard = pair.0.lock().unwrap();
                while *guard < 2 { guard = pair.1.wait(guard).unwrap(); }
                drop(guard);
                all.into_iter().for_each(|t| t.join().unwrap());
            }
            /// Two senders, and one who relies on their order.
            pub fn order_of_senders() {
                let (tx, rx) = mpsc::channel();
                let all: Vec<_> = (0..2).map(|n| { let tx = tx.clone(); thread::spawn(move || tx.send(n).unwrap()) }).collect();
                assert_eq!(rx.recv().unwrap(), 0);
                all.into_iter().for_each(|t| t.join().unwrap());
            }
            /// A check under a shared lock, the deed under an exclusive one.
            pub fn check_then_act() {
                let free = Arc::new(RwLock::new(true));
                let taken = Arc::new(AtomicUsize::new(0));
                let all: Vec<_> = (0..2).map(|_| { let (free, taken) = (free.clone(), taken.clone()); thread::spawn(move || {
                    let is_free = *free.read().unwrap();
                    if is_free { *free.write().unwrap() = false; taken.fetch_add(1, SeqCst); }
                }) }).collect();
                all.into_iter().for_each(|t| t.join().unwrap());
                assert!(taken.load(SeqCst) <= 1);
            }
            /// Peterson's flags without turns, sequentially consistent: never both.
            pub fn flags() {
                let both = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
                let inside = Arc::new(AtomicUsize::new(0));
                let all: Vec<_> = (0..2).map(|me| { let (both, inside) = (both.clone(), inside.clone()); thread::spawn(move || {
                    both[me].store(1, SeqCst);
                    if both[1 - me].load(SeqCst) == 0 { inside.fetch_add(1, SeqCst); }
                }) }).collect();
                all.into_iter().for_each(|t| t.join().unwrap());
                assert!(inside.load(SeqCst) <= 1);
            }
            /// Store buffers: only a weak memory lets both read nothing.
            pub fn relaxed_flags() {
                let both = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
                let inside = Arc::new(AtomicUsize::new(0));
                let all: Vec<_> = (0..2).map(|me| { let (both, inside) = (both.clone(), inside.clone()); thread::spawn(move || {
                    both[me].store(1, Relaxed);
                    if both[1 - me].load(Relaxed) == 0 { inside.fetch_add(1, SeqCst); }
                }) }).collect();
                all.into_iter().for_each(|t| t.join().unwrap());
                assert!(inside.load(SeqCst) <= 1);
            }
        }
    };
}
