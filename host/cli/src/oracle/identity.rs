//! Who the running kernel is: its version, what a probe found, and the rules that follow.
//!
//!   release ─► version ─┐
//!   probe: in-band tag, PPPoE ─┴─► label of recordings, configuration of the model

use groove_model::Config;
use groove_spec::Tag;
use groove_traffic::frames::v4;
use serde::{Deserialize, Serialize};

use crate::golden::{UnknownKernel, configuration};

/// A kernel as far as its GRO goes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Identity {
    /// As `uname --kernel-release` gives it.
    pub release: String,
    /// As recordings name it: the version, and what its version does not say.
    pub label: String,
    /// Frames with an in-band tag merge.
    pub vlan_gro: bool,
    /// PPPoE session frames merge.
    pub pppoe: bool,
}

impl Identity {
    /// A kernel of that release, with what a probe found.
    pub fn new(release: &str, vlan_gro: bool, pppoe: bool) -> Self {
        let version: String =
            release.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
        let mut label = version.trim_end_matches('.').to_owned();
        let usual = configuration(&label).map(|config| config.options.vlan_gro);
        if usual != Ok(vlan_gro) {
            label += if vlan_gro { "+vlan" } else { "+novlan" };
        }
        if pppoe {
            label += "+pppoe";
        }
        Self { release: release.to_owned(), label, vlan_gro, pppoe }
    }

    /// Its rules, if its version's are known.
    pub fn rules(&self) -> Result<Config, UnknownKernel> {
        configuration(&self.label)
    }

    /// One line for people.
    pub fn line(&self) -> String {
        let on = |on| if on { "merges" } else { "does not merge" };
        format!(
            "kernel {}: in-band VLAN {}, PPPoE {}",
            self.release,
            on(self.vlan_gro),
            on(self.pppoe)
        )
    }
}

/// Two segments that merge if an in-band tag is no obstacle.
pub fn tagged_pair() -> Vec<Vec<u8>> {
    let tagged = |number| {
        let mut packet = v4(number, 100);
        packet.tags = vec![Tag { tpid: 0x8100, tci: 5 }];
        packet.encode()
    };
    vec![tagged(0), tagged(1)]
}

/// Two segments that merge if a PPPoE header is no obstacle.
pub fn pppoe_pair() -> Vec<Vec<u8>> {
    let session = |number| {
        let plain = v4(number, 100).encode();
        let (addresses, ip) = (&plain[..12], &plain[14..]);
        let length = (ip.len() as u16 + 2).to_be_bytes();
        // Version 1, type 1, session data of session 5, IPv4.
        let header = [0x88, 0x64, 0x11, 0, 0, 5, length[0], length[1], 0, 0x21];
        [addresses, &header, ip].concat()
    };
    vec![session(0), session(1)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use groove_model::{Frame, Model};
    use groove_spec::{Profile, TokenKind};

    #[test]
    fn labels_name_what_the_version_does_not_say() {
        let label = |release, vlan, pppoe| Identity::new(release, vlan, pppoe).label;
        assert_eq!(label("6.18.44-fc-v657", false, false), "6.18.44");
        assert_eq!(label("6.18.44", true, false), "6.18.44+vlan");
        assert_eq!(label("7.3.4+deb13-amd64", true, true), "7.3.4+pppoe");
        assert_eq!(label("6.12.117+deb13-cloud-amd64", false, false), "6.12.117+novlan");
    }

    #[test]
    fn what_was_probed_is_in_the_rules() {
        let rules = |release, vlan, pppoe| {
            let config = Identity::new(release, vlan, pppoe).rules().unwrap();
            (config.profile, config.options.vlan_gro, config.options.pppoe)
        };
        assert_eq!(rules("6.18.1", true, false), (Profile::Linux618, true, false));
        assert_eq!(rules("6.12.1", false, true), (Profile::Linux612, false, true));
        assert_eq!(rules("7.3.0-rc1", true, false), (Profile::Linux73, true, false));
    }

    #[test]
    fn unknown_kernels_have_no_rules() {
        for release in ["6.17.9", "7.4.0", "5.10", "", "strange"] {
            assert!(Identity::new(release, true, false).rules().is_err(), "{release}");
        }
    }

    #[test]
    fn probes_merge_where_the_option_is_on_and_nowhere_else() {
        let count = |frames: &[Vec<u8>], vlan, pppoe| {
            let config = Identity::new("7.3.4", vlan, pppoe).rules().unwrap();
            let mut model = Model::new(config).unwrap();
            let mut out = Vec::new();
            let given = groove_model::Given { hash: Some(1), ..Default::default() };
            for bytes in frames {
                let frame = Frame { bytes, bad_fcs: false, given: Some(&given) };
                model.frame(frame, &mut out);
            }
            model.token(0, TokenKind::FlushAll, &mut out);
            out.len()
        };
        assert_eq!(count(&tagged_pair(), true, false), 1);
        assert_eq!(count(&tagged_pair(), false, true), 2);
        assert_eq!(count(&pppoe_pair(), false, true), 1);
        assert_eq!(count(&pppoe_pair(), true, false), 2);
    }
}
