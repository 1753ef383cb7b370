//! What the core is handed instead of reaching for it: time, chance, waiting.

use std::rc::Rc;

use futures::future::LocalBoxFuture;

use super::Nanos;

/// Clock, entropy and task spawning of the place we run in. Tests pass a seeded one.
pub trait Platform {
    /// The local clock.
    fn now(&self) -> Nanos;
    /// Fills `out` from a cryptographically secure generator (seeded in simulations).
    fn random(&self, out: &mut [u8]);
    /// Completes after about `ms` milliseconds.
    fn sleep(&self, ms: u32) -> LocalBoxFuture<'static, ()>;
    /// Runs a task in the background until it ends.
    fn spawn(&self, task: LocalBoxFuture<'static, ()>);
}

/// A platform shared by everything of one client.
pub type SharedPlatform = Rc<dyn Platform>;
