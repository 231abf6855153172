//! Linux as consumer: what the device merged goes into the kernel of another namespace, and
//! programs there read the bytes that were sent.
//!
//!   A: program ─► g0 ─► groove serve ═ vfio-user ═ groove run ─► g1 ─► B: kernel ─► program
//!        └──◄── va ◄═════════════ acknowledgements ═════════════◄ vb ◄──────────────┘
//!
//! The card only receives, so B answers over a veth pair. Needs root; skipped by name without.

mod support;

use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use support::namespace::{Namespace, can_run, until};
use support::{groove, installed};

/// Addresses of A and B.
const V4: [&str; 2] = ["10.7.0.1", "10.7.0.2"];
const V6: [&str; 2] = ["fd00:7::1", "fd00:7::2"];
/// Of g1 and va: nobody asks who has an address.
const CARD: &str = "02:00:00:00:07:02";
const BACK: &str = "02:00:00:00:07:01";

/// Both namespaces, the card between them.
struct Bed {
    dir: tempfile::TempDir,
    a: Namespace,
    b: Namespace,
}

impl Bed {
    fn new(serve: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let a = Namespace::serve(dir.path(), serve);
        let other = dir.path().join("b");
        fs::create_dir(&other).unwrap();
        let args = ["run", "--device", "vfio-user:../s", "--tap", "g1", "--json=report"];
        let b = Namespace::of(env!("CARGO_BIN_EXE_groove"), &args, &other);
        let log = || fs::read_to_string(other.join("log")).unwrap();
        until("a driver", || log().contains("the kernel gets them") || log().contains("error:"));
        assert!(!log().contains("error:"), "{}", log());
        a.ip(&format!(
            "link add va address {BACK} type veth peer name vb netns {}
             address add {}/32 dev g0
             link set g0 up
             link set va up",
            b.id(),
            V4[0]
        ));
        b.ip(&format!(
            "link set g1 address {CARD}
             address add {}/32 dev g1
             link set g1 up
             link set vb up",
            V4[1]
        ));
        let bed = Self { dir, a, b };
        bed.routes();
        bed
    }

    fn routes(&self) {
        // B first: what A says once it has IPv6 would be discarded there, and counted.
        let ends = [(&self.b, "vb", BACK, 1), (&self.a, "g0", CARD, 0)];
        for (namespace, device, address, this) in ends {
            namespace.run(|| {
                // The answer comes on another interface than the question went.
                for which in ["all", "default", "g0", "va", "g1", "vb"] {
                    let path = format!("/proc/sys/net/ipv4/conf/{which}/rp_filter");
                    let _ = fs::write(path, "0");
                    let path = format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6");
                    let _ = fs::write(path, "0");
                }
            });
            let own = if this == 0 { "g0" } else { "g1" };
            let (mine, other) = (V6[this], 1 - this);
            let mut lines = format!("address add {mine}/128 dev {own} nodad\n");
            for (version, to) in [("-4", V4), ("-6", V6)] {
                let (from, to) = (to[this], to[other]);
                lines += &format!("{version} route add {to} dev {device} src {from}\n");
                lines += &format!("neighbour add {to} lladdr {address} dev {device}\n");
            }
            namespace.ip_as_it_is(&lines);
        }
    }

    /// Ends the driver, and gives its report.
    fn report(mut self) -> Value {
        let code = self.b.interrupt();
        let log = fs::read_to_string(self.dir.path().join("b/log")).unwrap();
        assert_eq!(code, Some(0), "{log}");
        let report = fs::read_to_string(self.dir.path().join("b/report")).unwrap();
        serde_json::from_str(&report).unwrap()
    }
}

/// Counters of the calling thread's namespace by name, as `nstat` shows them.
fn counters() -> Vec<(String, u64)> {
    let mut all = Vec::new();
    for file in ["snmp", "netstat"] {
        let text = fs::read_to_string(format!("/proc/thread-self/net/{file}")).unwrap();
        let lines: Vec<_> = text.lines().collect();
        for pair in lines.chunks(2) {
            let prefix = pair[0].split(':').next().unwrap();
            for (name, value) in pair[0].split(' ').zip(pair[1].split(' ')).skip(1) {
                all.push((format!("{prefix}{name}"), value.parse().unwrap_or(0)));
            }
        }
    }
    let text = fs::read_to_string("/proc/thread-self/net/snmp6").unwrap();
    for line in text.lines() {
        let (name, value) = line.split_once(char::is_whitespace).unwrap();
        all.push((name.to_owned(), value.trim().parse().unwrap()));
    }
    all
}

/// Counters that say that something was wrong with what came, and are not 0.
fn faults() -> Vec<(String, u64)> {
    let is_fault = |name: &str| {
        ["CsumErrors", "InErrs", "InHdrErrors", "InAddrErrors", "InDiscards", "InTruncatedPkts"]
            .iter()
            .any(|fault| name.ends_with(fault))
    };
    let mut found: Vec<_> =
        counters().into_iter().filter(|(name, count)| is_fault(name) && *count > 0).collect();
    for name in ["rx_errors", "rx_frame_errors", "rx_dropped", "rx_over_errors"] {
        let text = Command::new("cat")
            .arg(format!("/sys/class/net/g1/statistics/{name}"))
            .stderr(Stdio::null())
            .output()
            .unwrap();
        let count = String::from_utf8(text.stdout).unwrap().trim().parse().unwrap_or(0);
        if count > 0 {
            found.push((name.into(), count));
        }
    }
    found
}

fn payload(bytes: usize, seed: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i * 7 + i / 251 + seed) as u8).collect()
}

/// From A to B, and what B read.
fn transfer(bed: &Bed, to: &str, sent: &[u8]) -> Vec<u8> {
    let address = SocketAddr::new(to.parse::<IpAddr>().unwrap(), 9000);
    let listener = bed.b.run(|| TcpListener::bind(address).unwrap());
    std::thread::scope(|scope| {
        let sender = scope.spawn(|| {
            bed.a.run(|| {
                TcpStream::connect(address).unwrap().write_all(sent).unwrap();
            });
        });
        let mut came = Vec::new();
        listener.accept().unwrap().0.read_to_end(&mut came).unwrap();
        sender.join().unwrap();
        came
    })
}

fn program(namespace: &Namespace, program: &str, args: &[&str]) -> Output {
    namespace.run(|| Command::new(program).args(args).output().unwrap())
}

/// A file from A's web server, fetched in B.
fn fetch(bed: &Bed, host: &str) {
    let sent = payload(700_000, 3);
    let web = bed.dir.path().join("web");
    fs::create_dir_all(&web).unwrap();
    fs::write(web.join("file"), &sent).unwrap();
    let mut server = bed.a.run(|| {
        let mut command = Command::new("python3");
        command.args(["-m", "http.server", "8080", "--bind", host]).current_dir(&web);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    });
    let shown = if host.contains(':') { format!("[{host}]") } else { host.into() };
    let url = format!("http://{shown}:8080/file");
    let args = ["--silent", "--fail", "--retry", "50", "--retry-connrefused", "--retry-delay", "1"];
    let fetched = program(&bed.b, "curl", &[&args[..], &["--max-time", "100", &url]].concat());
    let _ = server.kill();
    let _ = server.wait();
    assert!(fetched.status.success(), "{fetched:?}");
    assert!(fetched.stdout == sent, "what curl read over {host}");
}

/// iperf3 from A to B. When the sender is done the server stops reading, so it may count less; and
/// its bytes are not compared, since `--file` sends others where a write is cut short (3.12).
fn measure(bed: &Bed, host: &str) {
    let mut server = bed.b.run(|| {
        let mut command = Command::new("iperf3");
        command.args(["--server", "--one-off", "--bind", host]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    });
    until("a server", || bed.b.run(|| is_listening(5201)));
    let client = ["--client", host, "--bytes", "1M", "--parallel", "3", "--json"];
    let output =
        program(&bed.a, "iperf3", &[&client[..], &["--connect-timeout", "60000"]].concat());
    let _ = server.kill();
    let _ = server.wait();
    assert!(output.status.success(), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let [sent, came] = ["sum_sent", "sum_received"]
        .map(|sum| report["end"][sum]["bytes"].as_u64().expect("a count of bytes"));
    assert!(sent >= 1 << 20 && (100_000..=sent).contains(&came), "{host}: {came} of {sent} bytes");
}

/// Whether somebody listens at a port, in the calling thread's namespace.
fn is_listening(port: u16) -> bool {
    let port = format!(":{port:04X}");
    ["tcp", "tcp6"].iter().any(|file| {
        let text = fs::read_to_string(format!("/proc/thread-self/net/{file}")).unwrap();
        // Local address, state: 0A listens.
        text.lines().skip(1).any(|line| {
            let mut words = line.split_whitespace().skip(1);
            words.next().is_some_and(|local| local.ends_with(&port)) && words.nth(1) == Some("0A")
        })
    })
}

fn programs_read_what_was_sent(serve: &[&str], bytes: usize, test: &str) {
    if !can_run(test) {
        return;
    }
    let bed = Bed::new(serve);
    for (seed, host) in [V4[1], V6[1]].into_iter().enumerate() {
        let sent = payload(bytes, seed);
        assert!(transfer(&bed, host, &sent) == sent, "what came to {host}");
    }
    for [from, to] in [V4, V6] {
        if installed("curl") && installed("python3") {
            fetch(&bed, from);
        }
        if installed("iperf3") {
            measure(&bed, to);
        }
    }
    let faults = bed.b.run(faults);
    assert!(faults.is_empty(), "{faults:?}");
    let report = bed.report();
    let given = &report["tap"];
    println!("{given}");
    assert_eq!(given["taken"], report["total"]["deliveries"], "{report}");
    assert_eq!((&given["lost"], &given["without_words"]), (&0.into(), &0.into()), "{report}");
    assert_eq!(given["merged"], report["total"]["rx-hw-gro-packets"], "{report}");
    assert!(given["merged"].as_u64().unwrap() > 20, "{report}");
}

#[test]
fn the_kernel_takes_what_was_merged() {
    let test = "the_kernel_takes_what_was_merged";
    programs_read_what_was_sent(&["--queues", "2"], 2_000_000, test);
}

/// A sum that is wrong is counted as such: the counters above would show it.
#[test]
fn a_wrong_sum_is_the_kernels_fault_to_count() {
    if !can_run("a_wrong_sum_is_the_kernels_fault_to_count") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let held = Namespace::of("sleep", &["300"], dir.path());
    let (header, mut frame) = ([0; 10], support::tcp(1000, 1, 0x10, &[0x5a; 100]));
    let tap = held.run(|| groove_serve::TapOutput::open("g1").unwrap());
    assert!(!tap.send(&header, &frame).unwrap(), "an interface that is down");
    let to = std::net::Ipv4Addr::from_octets(frame[30..34].try_into().unwrap());
    held.ip(&format!("link set g1 address {}\naddress add {to}/32 dev g1", mac(&frame[..6])));
    held.ip("link set g1 up");
    assert!(tap.send(&header, &frame).unwrap());
    assert_eq!(held.run(faults), []);
    *frame.last_mut().unwrap() ^= 1;
    assert!(tap.send(&header, &frame).unwrap());
    until("a wrong sum", || !held.run(faults).is_empty());
    let names: Vec<_> = held.run(faults).into_iter().map(|(name, _)| name).collect();
    assert!(names.contains(&"TcpInCsumErrors".to_owned()), "{names:?}");
    // More header than frame: the kernel refuses it.
    let odd = [1, 1, 0xff, 0xff, 100, 0, 0xff, 0xff, 16, 0];
    let error = tap.send(&odd, &frame).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput, "{error}");
}

fn mac(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":")
}

#[test]
fn an_interface_that_cannot_be_had_is_explained() {
    if !can_run("an_interface_that_cannot_be_had_is_explained") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let served = Namespace::serve(dir.path(), &["--queues", "2"]);
    let run = |name: &str| {
        let args = ["run", "--device", "vfio-user:s", "--tap", name];
        served.run(|| groove(Path::new(dir.path()), &args).shown())
    };
    insta::assert_snapshot!("run_tap_taken", run("g0"));
    insta::assert_snapshot!("run_tap_name", run("a/b"));
}

/// Both namespaces in a guest, whose kernel has VLAN interfaces: the addresses are behind tag 5,
/// which the card takes out and `--tap` puts back.
/// `i2` is `ip`, a name that busybox has; longer ones would be taken for a command of it.
const TAGGED: &str = r#"
set -e
mkdir -p /run/netns /var/run
[ -e /var/run/netns ] || ln -s /run/netns /var/run/netns
i2 netns add b
b="i2 netns exec b"
groove serve --socket /tmp/s --tap g0 --queues 2 2>/tmp/serve &
until [ -S /tmp/s ]; do sleep 1; done
$b groove run --device vfio-user:/tmp/s --tap g1 --json=/tmp/report 2>/tmp/run &
run=$!
until $b i2 link show g1 >/dev/null 2>&1; do sleep 1; done
i2 link add va address 02:00:00:00:07:01 type veth peer name vb netns b
i2 link set va up
i2 link set g0 up
i2 link add link g0 name g0.5 type vlan id 5
i2 link set g0.5 up
$b i2 link set vb up
$b i2 link set g1 address 02:00:00:00:07:02 up
$b i2 link add link g1 name g1.5 type vlan id 5
$b i2 link set g1.5 up
for which in all va g0.5; do echo 0 >/proc/sys/net/ipv4/conf/$which/rp_filter; done
for which in all g1.5 vb; do $b sh -c "echo 0 >/proc/sys/net/ipv4/conf/$which/rp_filter"; done
for pair in '10.7.0.1 10.7.0.2 32' 'fd00:7::1 fd00:7::2 128 nodad'; do
    set -- $pair
    i2 address add $1/$3 dev g0.5 $4
    $b i2 address add $2/$3 dev g1.5 $4
    i2 route add $2 dev g0.5 src $1
    i2 neighbour add $2 lladdr 02:00:00:00:07:02 dev g0.5
    $b i2 route add $1 dev vb src $2
    $b i2 neighbour add $1 lladdr 02:00:00:00:07:01 dev vb
done
sleep 3
head -c 400000 /dev/urandom >/tmp/sent
httpd -p 8080 -h /tmp
for host in 10.7.0.1 '[fd00:7::1]'; do
    rm -f /tmp/came
    $b wget -q -O /tmp/came http://$host:8080/sent
    cmp /tmp/sent /tmp/came
done
for host in 10.7.0.2 fd00:7::2; do
    $b iperf3 --server --one-off --bind $host >/tmp/server 2>&1 &
    server=$!
    until $b netstat -ltn | grep -q 5201; do sleep 1; done
    iperf3 --client $host --bytes 400000 --connect-timeout 100000
    wait $server
done
$b grep -E 'InErrs|InCsumErrors|InHdrErrors|^Tcp|^Ip:' /proc/net/snmp >/tmp/snmp
$b sh -c 'cat /sys/class/net/g1/statistics/rx_errors' >/tmp/errors || true
kill -INT $run
wait $run
"#;

/// A guest without KVM takes its minutes: `GROOVE_VLAN_GUEST=1` asks for it.
#[test]
fn a_guest_takes_tagged_deliveries() {
    let test = "a_guest_takes_tagged_deliveries";
    if std::env::var_os("GROOVE_VLAN_GUEST").is_none() {
        println!("skipped: {test}: GROOVE_VLAN_GUEST=1 runs it, for some minutes");
        return;
    }
    if !installed("iperf3") {
        println!("skipped: {test}: needs iperf3");
        return;
    }
    let Some((machine, kernel)) = support::guest::machine(test) else { return };
    let found = |name: &str| {
        let output = Command::new("which").arg(name).output().unwrap();
        let path = String::from_utf8(output.stdout).unwrap();
        fs::canonicalize(path.trim()).unwrap()
    };
    let program = |path: &Path| groove_vm::Program::of(path).unwrap();
    let guest = groove_vm::Guest {
        modules: ["tun", "veth", "8021q"].map(String::from).to_vec(),
        programs: vec![
            ("groove".into(), program(Path::new(env!("CARGO_BIN_EXE_groove")))),
            ("i2".into(), program(&found("ip"))),
            ("iperf3".into(), program(&found("iperf3"))),
        ],
        command: TAGGED.into(),
        outputs: ["/tmp/report", "/tmp/snmp", "/tmp/serve", "/tmp/run"].map(String::from).to_vec(),
        memory_mib: 1024,
        limit: std::time::Duration::from_secs(900),
        ..groove_vm::Guest::default()
    };
    let outcome = machine.run(kernel, &guest, &mut |_| {}).unwrap();
    let text = |name: &str| {
        String::from_utf8_lossy(outcome.outputs.get(name).map_or(&[][..], Vec::as_slice))
            .into_owned()
    };
    let said = format!("{}\n{}\n{}", outcome.console, text("/tmp/serve"), text("/tmp/run"));
    assert_eq!(outcome.exit, 0, "{said}");
    let report: Value = serde_json::from_str(&text("/tmp/report")).expect("a report");
    // What A's kernel said before the interface was up is lost, and counted.
    let count = |group: &str, name: &str| report[group][name].as_u64().unwrap();
    let given = count("tap", "taken") + count("tap", "lost");
    assert_eq!(given, count("total", "deliveries"), "{report}");
    assert!(count("tap", "lost") < 50, "{report}");
    assert!(report["tap"]["merged"].as_u64().unwrap() > 10, "{report}");
    println!("{}\n{}", report["tap"], text("/tmp/snmp"));
    let snmp = text("/tmp/snmp");
    let tcp: Vec<_> = snmp.lines().filter(|line| line.starts_with("Tcp:")).collect();
    for (name, value) in tcp[0].split(' ').zip(tcp[1].split(' ')) {
        assert!(!matches!(name, "InErrs" | "InCsumErrors") || value == "0", "{snmp}");
    }
}
