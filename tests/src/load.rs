//! A bounded load on a server of this machine, every answer of which is checked.

use crate::PATIENCE;
use std::time::{Duration, Instant};

/// Clients that send requests, each one at a time.
pub const CLIENTS: u64 = 4;
/// Between two looks at how many are answered.
const LOOK: Duration = Duration::from_millis(2);

/// [`CLIENTS`] that ask again and again, between [`start`](Load::start) and [`stop`](Load::stop).
pub trait Load {
    /// Begins.
    fn start(&mut self);

    /// Ends it when all requests that were sent are answered, and answers how many there were so far. Fails if one of them
    /// failed.
    fn stop(&mut self) -> u64;

    /// Requests answered so far. Each client may have sent one more.
    fn answered(&mut self) -> u64;

    /// The longest time that an answer took since this was last asked.
    fn longest(&mut self) -> Duration;

    /// So many requests one after the other, and nothing else that the handler sees.
    fn ask(&mut self, requests: u64);

    /// Waits until so many more are answered; answers how many per second.
    fn go_on(&mut self, requests: u64) -> f64 {
        let (begin, until) = (Instant::now(), self.answered() + requests);
        while self.answered() < until {
            assert!(begin.elapsed() < PATIENCE, "the server does not answer {requests} requests");
            std::thread::sleep(LOOK);
        }
        requests as f64 / begin.elapsed().as_secs_f64()
    }

    /// Waits for so long; answers how many requests per second were answered.
    fn rate(&mut self, window: Duration) -> f64 {
        let (begin, before) = (Instant::now(), self.answered());
        std::thread::sleep(window);
        (self.answered() - before) as f64 / begin.elapsed().as_secs_f64()
    }
}
