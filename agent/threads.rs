//! Threads of the agent's own, which are none of the VM's.

/// Starts one. `false`: there are too many threads.
pub fn start(name: &str, work: impl FnOnce() + Send + 'static) -> bool {
    let blocked = Blocked::new();
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work);
    drop(blocked);
    thread.is_ok()
}

/// Keeps signals from this thread, and from threads that it starts, until it is dropped: the VM expects its own on its own
/// threads.
struct Blocked(libc::sigset_t);

impl Blocked {
    fn new() -> Blocked {
        // SAFETY: both sets are plain bits and this function's; nothing can be wrong with the arguments.
        unsafe {
            let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = (std::mem::zeroed(), std::mem::zeroed());
            libc::sigfillset(&mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
            Blocked(before)
        }
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        // SAFETY: the set is this thread's from before.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, std::ptr::null_mut()) };
    }
}
