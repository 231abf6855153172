//! Network namespaces of a test's own, which go with the processes that hold them.

use std::fs;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// For everything, a build of the hardware included.
pub const LIMIT: Duration = Duration::from_secs(300);

/// A process with a network namespace of its own, which goes with it.
pub struct Namespace(Child);

impl Namespace {
    pub fn of(program: &str, args: &[&str], dir: &Path) -> Self {
        let log = fs::File::create(dir.join("log")).unwrap();
        let mut command = Command::new("unshare");
        command.arg("--net").arg(program).args(args).current_dir(dir);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let child = command.spawn().unwrap();
        // It has its namespace once it is no longer `unshare`.
        let (own, path) = (fs::read_link("/proc/self/ns/net").unwrap(), Self::path(child.id()));
        until("a namespace", || fs::read_link(&path).is_ok_and(|link| link != own));
        Self(child)
    }

    /// Number of the process that holds it.
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Ends the process as Ctrl-C does, and waits for it: its exit code.
    pub fn interrupt(&mut self) -> Option<i32> {
        let sent = Command::new("kill").args(["-INT", &self.0.id().to_string()]).status();
        assert!(sent.unwrap().success());
        self.0.wait().unwrap().code()
    }

    fn path(process: u32) -> String {
        format!("/proc/{process}/ns/net")
    }

    /// `groove serve` in a namespace, there, with `g0` on its wire.
    pub fn serve(dir: &Path, more: &[&str]) -> Self {
        let args = [&["serve", "--socket", "s", "--tap", "g0"], more].concat();
        let served = Self::of(env!("CARGO_BIN_EXE_groove"), &args, dir);
        // Hardware may have to be built first.
        let log = || fs::read_to_string(dir.join("log")).unwrap();
        until("the server", || dir.join("s").exists() || log().contains("error:"));
        assert!(dir.join("s").exists(), "{}", log());
        served
    }

    /// Runs in a thread that has gone into the namespace.
    pub fn run<T: Send>(&self, what: impl FnOnce() -> T + Send) -> T {
        let file = fs::File::open(Self::path(self.0.id())).unwrap();
        std::thread::scope(|scope| {
            let thread = scope.spawn(move || {
                let kind = Some(LinkNameSpaceType::Network);
                move_into_link_name_space(file.as_fd(), kind).unwrap();
                what()
            });
            thread.join().unwrap()
        })
    }

    /// `ip` in the namespace, once for each line, without IPv6's own chatter.
    pub fn ip(&self, lines: &str) {
        self.run(|| {
            for which in ["all", "default"] {
                let path = format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6");
                let _ = fs::write(path, "1");
            }
        });
        self.ip_as_it_is(lines);
    }

    /// The same, with IPv6 as it is there.
    pub fn ip_as_it_is(&self, lines: &str) {
        self.run(|| {
            for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
                let output = Command::new("ip").args(line.split(' ')).output().unwrap();
                assert!(output.status.success(), "ip {line}: {output:?}");
            }
        });
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[track_caller]
pub fn until(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + LIMIT;
    while !done() {
        assert!(Instant::now() < end, "no {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Whether this machine lets a test have namespaces, bridges and TAP interfaces.
pub fn can_run(test: &str) -> bool {
    let probe = "ip link add br0 type bridge && ip tuntap add dev tap0 mode tap";
    let output = Command::new("unshare").args(["--net", "sh", "-c", probe]).output();
    let can = output.is_ok_and(|output| output.status.success());
    if !can {
        println!("skipped: {test}: needs root, iproute2, and a kernel with TAP and bridge");
    }
    can
}
