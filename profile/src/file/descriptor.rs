//! Which descriptor a file gets.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// The file under a descriptor that is no standard stream's. In a process that was started without some of those, the next file
/// that is opened takes the place of one, and whoever prints then prints into it.
///
/// # Errors
/// Too many files are open.
pub fn beyond_standard_streams(file: File) -> io::Result<File> {
    const STANDARD_ERROR: i32 = 2;
    // std duplicates to 3 or more (library/std/src/os/fd/owned.rs, `F_DUPFD_CLOEXEC`).
    if file.as_raw_fd() > STANDARD_ERROR { Ok(file) } else { file.try_clone() }
}
