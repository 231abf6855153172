//! Kernel: from the label of a recorded kernel to the configuration that stands for it.
//!
//!   6.12.117      linux-6.12
//!   6.18.44       linux-6.18, vlan_gro off (that kernel was built without VLAN_8021Q)
//!   7.3.4         linux-7.3
//!   7.3.4+pppoe   linux-7.3, pppoe on
//!   6.18.44+vlan  linux-6.18, vlan_gro on; 7.3.4+novlan: off
//!
//! Tunnels are on in all: their handlers are built in. Other patch levels act like the ones named.

use groove_model::{Config, Options};
use groove_spec::Profile;

/// Kernel label without a profile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("kernel {0}: known are 6.12.*, 6.18.*, 7.3.*, each with or without +vlan, +novlan, +pppoe")]
pub struct UnknownKernel(pub String);

/// What a kernel of that label does with frames, headers of any length included.
pub fn configuration(label: &str) -> Result<Config, UnknownKernel> {
    let mut parts = label.split('+');
    let version = parts.next().unwrap_or_default();
    let family = version.splitn(3, '.').take(2).collect::<Vec<_>>().join(".");
    let profile = match family.as_str() {
        "6.12" => Profile::Linux612,
        "6.18" => Profile::Linux618,
        "7.3" => Profile::Linux73,
        _ => return Err(UnknownKernel(label.to_owned())),
    };
    let mut options = Options {
        rxcsum: false,
        vlan_strip: false,
        vlan_gro: profile != Profile::Linux618,
        tunnels: true,
        pppoe: false,
        trim_pad: false,
        strict_order: false,
    };
    for part in parts {
        match part {
            "pppoe" => options.pppoe = true,
            "vlan" => options.vlan_gro = true,
            "novlan" => options.vlan_gro = false,
            _ => return Err(UnknownKernel(label.to_owned())),
        }
    }
    Ok(Config {
        profile,
        options,
        max_frame_bytes: usize::MAX,
        max_header_bytes: None,
        ..Config::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_select_profile_and_options() {
        let of = |label| {
            let config = configuration(label).expect(label);
            (config.profile, config.options.vlan_gro, config.options.pppoe)
        };
        assert_eq!(of("6.12.117"), (Profile::Linux612, true, false));
        assert_eq!(of("6.18.44"), (Profile::Linux618, false, false));
        assert_eq!(of("7.3.4"), (Profile::Linux73, true, false));
        assert_eq!(of("7.3.4+pppoe"), (Profile::Linux73, true, true));
        assert_eq!(of("6.18.44+vlan"), (Profile::Linux618, true, false));
        assert_eq!(of("7.3.4+novlan+pppoe"), (Profile::Linux73, false, true));
    }

    #[test]
    fn unknown_labels_are_refused() {
        for label in ["", "7", "6.1.1", "7.3.4+xyz", "7.3.4+", "linux-7.3"] {
            assert_eq!(configuration(label), Err(UnknownKernel(label.to_owned())));
        }
    }
}
