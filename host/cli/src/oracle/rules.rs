//! Rules: what each kernel does, shown by one recorded case per rule.
//!
//!   recorded cases ─► the one of each rule ─► kernel ─► which frames came together
//!
//! Frames that came together are joined, deliveries are in their order: `0..1 2` says that frames 0
//! and 1 were merged, and 2 came alone. Held by `the_table_in_the_docs_is_measured`: the docs show
//! this table, and every rule has its case.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::compare;
use crate::golden::{Case, Recorded};

/// A rule, its number in `docs/semantics.md`, and the case that shows it.
pub const RULES: [(&str, &str, &str); 51] = [
    ("1.1", "four segments with an in-band tag", "v4_inband_base"),
    ("1.1", "the same, frame 1 with another VID", "v4_inband_vid_at1"),
    ("1.1", "frame 1 under 0x86dd, the others under 0x0800", "v4_ethertype6_at1"),
    ("1.2", "IPv4 options in frame 1", "v4_ipopt_nop_at1"),
    ("1.2", "frame 1 is a fragment (MF)", "v4_mf_at1"),
    ("1.2", "wrong IPv4 header checksum in frame 2", "v4_badip_at2"),
    ("1.3", "equal destination options headers", "ipv6_ip_v6ext_same"),
    ("1.3", "a fragment header in frame 2", "ipv6_ip_frag6_nogap"),
    ("1.4", "wrong TCP checksum in frame 2", "v4_badcsum_at2"),
    ("1", "two segments in PPPoE", "pppoev4_data_same"),
    ("1", "two segments in IPIP", "ipip_data_same"),
    ("1", "two segments in IPIP in IPIP", "tun_ipip_in_ipip"),
    ("1", "GRE with an equal key", "tun_gre_key"),
    ("1", "GRE with sequence numbers", "tun_gre_seq"),
    ("2.2", "a stripped tag on frame 2 alone", "v4_tag_added_at2"),
    ("2.2", "another flow with an equal hash in frame 2", "v4_dport_samehash_at2"),
    ("2.2", "another flow label in frame 2", "v6_flowlabel_at2"),
    ("3.1", "PSH on frame 2 of five", "ipv4_flags_psh"),
    ("3.1", "a shorter frame 1", "ipv4_data_lrg_sml"),
    ("3.2", "an empty RST in the middle", "ipv4_flags_rst"),
    ("3.3", "three pure acknowledgements", "ipv4_ack"),
    ("3.4", "nine flows in one bucket, then the first again", "evict_oldest"),
    ("4.1", "CWR on frames 1 and 2 of five", "ipv4_flags_cwr"),
    ("4.1", "CWR on frame 0 of four", "b03_cwr_first"),
    ("4.1", "CWR on all four", "b03_cwr_all"),
    ("4.2", "another window in frame 2", "v4_win_at2"),
    ("4.2", "AE from frame 1 on", "v4_res1_from1"),
    ("4.3", "another acknowledgement from frame 2 on", "v4_ack_from2"),
    ("4.4", "another timestamp from frame 1 on", "v4_tsval_from1"),
    ("4.5", "another TTL in frame 2", "v4_ttl_at2"),
    ("4.5", "DF clear in frame 1 alone", "v4_df0_at1"),
    ("4.6", "identification 8, 8 with DF = 0", "ipv4_ip_id_df0_fixed"),
    ("4.6", "identification 8, 8 with DF = 1", "ipv4_ip_id_df1_fixed"),
    ("4.6", "identification 8, 9, 9", "ipv4_ip_id_df1_inc_fixed"),
    ("4.6", "identification 65535, 0, 1", "ipv4_ip_id_df1_wrap"),
    ("4.6", "IPIP, outer 8, 8, 8 with DF = 0", "ipip_outer_id_df0_fixed"),
    ("4.6", "IPIP, outer 8, 77, 3 with DF = 1", "ipip_outer_id_df1_random"),
    ("4.6", "IPIP, inner and outer fixed, DF = 0", "ipip_both_id_fixed"),
    ("4.6", "SIT, outer 8, 8, 8 with DF = 1", "sit_outer_id_df1_fixed"),
    ("4.7", "an empty frame 1", "v4_empty_at1"),
    ("4.8", "a longer frame 1", "ipv4_data_sml_lrg"),
    ("4.9", "a byte missing before frame 1", "v4_seq_gap1_at1"),
    ("4.10", "frame 1 padded to 60 bytes", "ipv4_data_lrg_1byte_pad"),
    ("4.10", "the reserved fragment bit in frame 1", "v4_evil_at1"),
    ("4.11", "65,535 bytes reached in frame 16", "ipv4_large_max"),
    ("4.11", "one byte too many in frame 16", "ipv4_large_rem"),
    ("4.11", "65,532 bytes and an in-band tag", "v4_limit_inband_65532"),
    ("5.1", "the poll ends before frame 2", "ipv4_data_burst"),
    ("7.1", "verified and unverified frames in turn", "v4_mixed_state"),
    ("7.3", "frame 2 given as verified, but wrong", "v4_badcsum_at2_unnecessary"),
    ("7.3", "transmit-side state, frame 1 meaningless", "v4_partial_bad"),
];

/// One row of the table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// Number of the rule.
    pub rule: &'static str,
    /// What the frames are.
    pub what: &'static str,
    /// Name of the case.
    pub case: &'static str,
    /// Kernel to deliveries.
    pub kernels: BTreeMap<String, String>,
}

/// Cases of the rules, in their order, each with all records of cases of that name; a name without
/// a case is given as error.
pub fn cases(all: &[Case]) -> Result<Vec<Case>, &'static str> {
    let find = |name: &'static str| {
        let mut same = all.iter().filter(|case| case.name == name);
        let mut case = same.next().cloned().ok_or(name)?;
        case.golden.extend(same.flat_map(|other| other.golden.clone()));
        Ok(case)
    };
    RULES.iter().map(|(_, _, name)| find(name)).collect()
}

/// The rows; `cases` are those of [`cases`], with any records.
pub fn rows(cases: &[Case]) -> Vec<Row> {
    let row = |(case, (rule, what, name)): (&Case, &(&'static str, &'static str, &'static str))| {
        let marked = MARKED.contains(rule);
        let kernels = case.golden.iter();
        let kernels = kernels.map(|(label, list)| (label.clone(), deliveries(list, marked)));
        Row { rule, what, case: name, kernels: kernels.collect() }
    };
    cases.iter().zip(&RULES).map(row).collect()
}

/// Deliveries as frame numbers, `marked` with GSO types behind those that were merged.
fn deliveries(list: &[Recorded], marked: bool) -> String {
    let one = |recorded: &Recorded| {
        let frames = compare::frames(&recorded.frames).replace(' ', ",");
        let marks = recorded.gso_type.iter().flatten();
        let marks: Vec<&str> = marks.map(String::as_str).filter(|m| MARKS.contains(m)).collect();
        if marks.is_empty() || !marked {
            frames
        } else {
            format!("{frames} ({})", marks.join(", "))
        }
    };
    list.iter().map(one).collect::<Vec<_>>().join(" · ")
}

/// Rules that are about these marks too.
const MARKED: [&str; 2] = ["4.1", "4.6"];
/// GSO types that say more than the protocol.
const MARKS: [&str; 4] = ["TCP_ECN", "TCP_ACCECN", "TCP_FIXEDID", "TCP_FIXEDID_INNER"];

/// The rows as a Markdown table, a column for each kernel that any row has.
pub fn markdown(rows: &[Row]) -> String {
    let mut kernels: Vec<&str> = Vec::new();
    for label in rows.iter().flat_map(|row| row.kernels.keys()) {
        if !kernels.contains(&label.as_str()) {
            kernels.push(label);
        }
    }
    kernels.sort_unstable();
    let mut text = format!("| Rule | Frames | {} |\n", kernels.join(" | "));
    text += &format!("|---|---{}|\n", "|---".repeat(kernels.len()));
    for row in rows {
        text += &format!("| {} | {} |", row.rule, row.what);
        for kernel in &kernels {
            text += &format!(" {} |", row.kernels.get(*kernel).map_or("", String::as_str));
        }
        text.push('\n');
    }
    text
}
