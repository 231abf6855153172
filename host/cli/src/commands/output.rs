//! Standard output and error, without a panic when the reader has gone away.

use std::io::{self, Write};

use crate::{Failure, exit};

/// Data, to standard output.
pub fn data(text: &str) -> Result<(), Failure> {
    write(&mut io::stdout().lock(), text)
}

/// Talk, to standard error.
pub fn talk(text: &str) -> Result<(), Failure> {
    write(&mut io::stderr().lock(), text)
}

fn write(to: &mut dyn Write, text: &str) -> Result<(), Failure> {
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    match write!(to, "{text}{end}").and_then(|()| to.flush()) {
        // Whoever reads, as `head` does, has seen enough.
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(e) => Err(Failure::caused(exit::USAGE, "failed to write the output", &e)),
        Ok(()) => Ok(()),
    }
}
