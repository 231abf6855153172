//! Watches one output stream on every cycle.
//!
//! Follows: AMBA AXI4-Stream (IHI 0051A) 2.2.1: a source that has set valid keeps it and what goes
//! with it until ready.
//! Invariants: valid is held (`dropped_valid_is_caught`), values are stable while stalled
//! (`changed_data_is_caught`), keep has no holes and is full but in the last beat
//! (`keep_with_holes_is_caught`).

use crate::Error;
use crate::dut::{Dut, Port};

/// A stream leaving the hardware.
pub(crate) struct Monitor {
    stream: &'static str,
    /// Names and ports that must stay while stalled.
    fields: Vec<(String, Port)>,
    valid: Port,
    ready: Port,
    stalled: bool,
    /// Bytes of all fields in the cycle in which the stall began.
    held: Vec<u8>,
}

impl Monitor {
    /// For the ports `<stream>_<valid>`, `<stream>_<ready>` and `<stream>_<field>`.
    pub(crate) fn new(
        dut: &Dut,
        stream: &'static str,
        names: [&str; 2],
        fields: &[&str],
    ) -> Result<Self, Error> {
        Self::with_prefix(dut, stream, &format!("{stream}_"), names, fields)
    }

    /// For the ports `<channel>valid`, `<channel>ready` and `<channel><field>`, as AXI names them.
    pub(crate) fn channel(
        dut: &Dut,
        channel: &'static str,
        fields: &[&str],
    ) -> Result<Self, Error> {
        Self::with_prefix(dut, channel, channel, ["valid", "ready"], fields)
    }

    fn with_prefix(
        dut: &Dut,
        stream: &'static str,
        prefix: &str,
        [valid, ready]: [&str; 2],
        fields: &[&str],
    ) -> Result<Self, Error> {
        let port = |name: &str| dut.port(&format!("{prefix}{name}"));
        let fields = fields
            .iter()
            .map(|name| Ok((format!("{prefix}{name}"), port(name)?)))
            .collect::<Result<Vec<_>, Error>>()?;
        let (valid, ready) = (port(valid)?, port(ready)?);
        Ok(Self { stream, fields, valid, ready, stalled: false, held: Vec::new() })
    }

    /// Forgets a stall and is ready: the hardware is being reset.
    pub(crate) fn reset(&mut self, dut: &mut Dut) {
        self.stalled = false;
        self.set_ready(dut, true);
    }

    pub(crate) fn set_ready(&self, dut: &mut Dut, ready: bool) {
        dut.set(self.ready, u64::from(ready));
    }

    pub(crate) fn is_valid(&self, dut: &Dut) -> bool {
        dut.read(self.valid) != 0
    }

    /// Checks one settled cycle; true if a transfer takes place in it.
    pub(crate) fn check(&mut self, dut: &Dut, ready: bool) -> Result<bool, Error> {
        let valid = dut.read(self.valid) != 0;
        if self.stalled {
            if !valid {
                return Err(violation(dut, self.stream, "valid fell before ready"));
            }
            self.compare(dut)?;
        }
        let stalls = valid && !ready;
        if stalls && !self.stalled {
            self.held.clear();
            for (_, port) in &self.fields {
                self.held.extend_from_slice(dut.bytes(*port));
            }
        }
        self.stalled = stalls;
        Ok(valid && ready)
    }

    /// In reset nothing may be offered.
    pub(crate) fn check_reset(&self, dut: &Dut) -> Result<(), Error> {
        self.check_silent(dut, "valid before reset ended")
    }

    /// Nothing may be offered, because of `why`.
    pub(crate) fn check_silent(&self, dut: &Dut, why: &str) -> Result<(), Error> {
        if self.is_valid(dut) {
            return Err(violation(dut, self.stream, why));
        }
        Ok(())
    }

    fn compare(&self, dut: &Dut) -> Result<(), Error> {
        let mut held = &self.held[..];
        for (name, port) in &self.fields {
            let now = dut.bytes(*port);
            let (then, rest) = held.split_at(now.len());
            if then != now {
                return Err(violation(dut, name, "changed while valid waited for ready"));
            }
            held = rest;
        }
        Ok(())
    }
}

/// An error that names port and cycle.
pub(crate) fn violation(dut: &Dut, port: &str, what: impl Into<String>) -> Error {
    Error::Protocol { port: port.to_owned(), cycle: dut.cycle(), what: what.into() }
}

/// Number of valid bytes of a beat, or what is wrong with its keep.
pub(crate) fn keep_bytes(keep: u64, width_bytes: usize, last: bool) -> Result<usize, &'static str> {
    let bytes = keep.trailing_ones() as usize;
    if keep.count_ones() as usize != bytes {
        return Err("keep has holes");
    }
    match bytes {
        0 => Err("keep is empty"),
        _ if bytes < width_bytes && !last => Err("keep is not full before the last beat"),
        _ => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::keep_bytes;

    #[test]
    fn keep_rules() {
        assert_eq!(keep_bytes(u64::MAX, 64, false), Ok(64));
        assert_eq!(keep_bytes(0xff, 8, false), Ok(8));
        assert_eq!(keep_bytes(0x07, 8, true), Ok(3));
        assert_eq!(keep_bytes(0x07, 8, false), Err("keep is not full before the last beat"));
        assert_eq!(keep_bytes(0x05, 8, true), Err("keep has holes"));
        assert_eq!(keep_bytes(0x06, 8, true), Err("keep has holes"));
        assert_eq!(keep_bytes(0, 8, true), Err("keep is empty"));
    }
}
