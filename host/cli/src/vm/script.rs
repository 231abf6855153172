//! What the guest is told to do, as a script for its shell, and what it brings back.
//!
//! Each step leaves its name and exit code in one file, and what it said in others.

use super::Expected;

/// Where results are.
const RESULTS: &str = "/tmp/r";
/// Name and exit code of each step, a line each.
pub const STEPS: &str = "/tmp/r/steps";
/// What the kernel says of the IOMMU's refusals.
pub const FAULTS: &str = "/tmp/r/faults";

/// Beginning of a script: finds the function.
const FIND: &str = r#"mkdir -p /tmp/r
step() {
    name=$1
    shift
    "$@" >/tmp/r/$name.out 2>/tmp/r/$name.err
    code=$?
    echo "$name $code" >>/tmp/r/steps
    echo "step $name $code"
}
bdf=$(groove devices --json | sed -n 's/.*"bdf": "\(.*\)".*/\1/p' | head -n 1)
"#;

/// Path of a capture in the guest.
pub fn capture(number: usize) -> String {
    format!("/captures/{number}.pcap")
}

/// Path of a step's output, `out`, or of its errors, `err`.
pub fn said(step: &str, stream: &str) -> String {
    format!("{RESULTS}/{step}.{stream}")
}

/// A step and the exit code that it must have.
pub type Step = (String, i32);

/// Steps of a test, in order.
pub fn steps(captures: usize) -> Vec<Step> {
    let step = |name: &str, code| (name.to_owned(), code);
    let mut steps = vec![step("unbound", 3), step("bind", 0)];
    steps.extend((0..captures).map(|number| (pass(number), 0)));
    steps.extend([step("stray", 0), step("unbind", 0)]);
    steps
}

/// Name of the step that runs a capture.
pub fn pass(number: usize) -> String {
    format!("pass-{number}")
}

/// The test.
pub fn test(expected: &[Expected], queues: u8, limit: Option<u64>) -> String {
    let limit = limit.map_or(String::new(), |limit| format!(" --limit {limit}"));
    let run = |number: usize| {
        format!("groove run {} --queues {queues}{limit} --device vfio:$bdf", capture(number))
    };
    let mut script = format!("{FIND}step unbound {}\nstep bind groove bind $bdf\n", run(0));
    for number in 0..expected.len() {
        script += &format!("step {} {} --json\n", pass(number), run(number));
    }
    script += "step stray groove vm stray $bdf --json\n";
    script += "step unbind groove unbind $bdf\n";
    script += &format!("dmesg | grep -E 'DMAR: .*(fault|Write|Read)' >{FAULTS}\nexit 0\n");
    script
}

/// Files that the test brings back.
pub fn outputs(captures: usize) -> Vec<String> {
    let mut outputs = vec![STEPS.to_owned(), FAULTS.to_owned()];
    for (step, _) in steps(captures) {
        outputs.extend([said(&step, "out"), said(&step, "err")]);
    }
    outputs
}

/// A console, the device bound.
pub fn shell(captures: usize, queues: u8) -> String {
    let files: Vec<String> = (0..captures).map(capture).collect();
    let files = files.join(" ");
    format!(
        "{FIND}groove bind $bdf
export bdf
echo
echo \"The device is $bdf, bound to vfio-pci. The server plays these captures in turn:\"
echo \"  {files}\"
echo \"Drive it:  groove run {} --queues {queues} --device vfio:\\$bdf\"
echo \"Leave:     exit, or Ctrl-A and then X\"
echo
setsid cttyhack sh
",
        capture(0)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Digest;

    #[test]
    fn every_step_is_in_the_script() {
        let expected = |name: &str| Expected {
            capture: name.into(),
            frames: 1,
            deliveries: 1,
            digest: Digest::default(),
        };
        let script = test(&[expected("a"), expected("b")], 4, Some(9));
        let begun: Vec<_> = script.lines().filter_map(|line| line.strip_prefix("step ")).collect();
        let names = begun.iter().map(|line| line.split(' ').next().unwrap().to_owned());
        let wanted = steps(2).into_iter().map(|(name, _)| name);
        assert_eq!(names.collect::<Vec<_>>(), wanted.collect::<Vec<_>>());
        let pass = "groove run /captures/1.pcap --queues 4 --limit 9 --device vfio:$bdf --json";
        assert!(begun.contains(&format!("pass-1 {pass}").as_str()), "{script}");
        assert!(outputs(2).contains(&"/tmp/r/pass-1.out".to_owned()));
    }
}
