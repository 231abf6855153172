//! What the command says when it fails: one message, its causes, the next step, and the exit code.
//!
//!   error: failed to read capture x.pcap
//!   caused by: the file ends inside a record
//!   help: ...
//!
//! Invariants: every failure has an exit code of the table in `exit`. Not here: printing.

use std::error::Error;
use std::fmt;

use crate::exit;

/// A failure on its way to the user.
#[derive(Debug)]
pub struct Failure {
    /// Exit code, one of [`exit`].
    pub code: u8,
    /// One sentence without full stop.
    pub message: String,
    /// From the nearest cause to the root.
    pub causes: Vec<String>,
    /// What to do next.
    pub help: Option<String>,
}

impl Failure {
    /// A failure with a message of its own.
    pub fn new(code: u8, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), causes: Vec::new(), help: None }
    }

    /// Wrong usage or input.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(exit::USAGE, message)
    }

    /// A fault of ours.
    pub fn fault(message: impl Into<String>) -> Self {
        Self::new(exit::FAULT, message).help("this is a fault of Groove: please report it")
    }

    /// Message and causes of a library error.
    pub fn of(code: u8, error: &(dyn Error + 'static)) -> Self {
        let mut failure = Self::new(code, error.to_string());
        failure.add_causes(error.source());
        failure
    }

    /// A message of our own, caused by a library error.
    pub fn caused(code: u8, message: impl Into<String>, error: &(dyn Error + 'static)) -> Self {
        let mut failure = Self::new(code, message);
        failure.add_causes(Some(error));
        failure
    }

    /// With the next step.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    fn add_causes(&mut self, mut cause: Option<&(dyn Error + 'static)>) {
        let mut last = self.message.clone();
        while let Some(error) = cause {
            let text = error.to_string();
            // Transparent wrappers repeat the text of what they wrap.
            if text != last {
                self.causes.push(text.clone());
            }
            last = text;
            cause = error.source();
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        for cause in &self.causes {
            write!(f, "\ncaused by: {cause}")?;
        }
        match &self.help {
            Some(help) => write!(f, "\nhelp: {help}"),
            None => Ok(()),
        }
    }
}
