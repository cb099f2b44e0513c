//! Wrong options that the parser of the command line does not see.

use std::error::Error;
use std::fmt;

/// The exit code of wrong options, whoever finds them: the parser ends with it, too.
pub const CODE: u8 = 2;

/// Options that contradict each other, or a value that cannot be, whatever is in the files.
#[derive(Debug)]
pub struct Usage(pub String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Usage {}
