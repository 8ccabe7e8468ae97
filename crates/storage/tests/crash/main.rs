//! The storage engine on a disk that forgets: crashes at every operation, failing calls, damaged bytes.
//!
//! Files: `machine` (a database small enough to recover thousands of times a second), `workload` (what is done to it,
//! and the oracle that knows every state it may be in after a crash), `explore` (every crash point of a run),
//! `crashes`, `threads`, `faults`, `damage`, `large` (the tests).

mod broken;
mod crashes;
mod damage;
mod explore;
mod faults;
mod large;
mod machine;
mod threads;
mod workload;
