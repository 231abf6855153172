//! Guests of QEMU, fetched into Groove's cache: skipped by name where that cannot be had.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use groove_vm::{Background, Error, Event, File, Guest, Host, Kernel, Machine, Program, Store};

/// Groove's cache, as the command finds it.
fn cache() -> std::path::PathBuf {
    let var = |name| std::env::var_os(name).filter(|v| !v.is_empty());
    let cache = var("GROOVE_CACHE").map(Into::into);
    let cache = cache.or_else(|| Some(std::path::Path::new(&var("HOME")?).join(".cache/groove")));
    cache.unwrap_or_else(|| std::env::temp_dir().join("groove"))
}

fn machine() -> Option<&'static (Machine, Kernel)> {
    static ALL: OnceLock<Option<(Machine, Kernel)>> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        let store = Store::new(&cache(), Host::default());
        let talk = |line: &str| eprintln!("{line}");
        let machine = store.machine(&talk);
        let both =
            machine.and_then(|machine| Ok((machine, store.kernel(&Default::default(), &talk)?)));
        match both {
            Ok(both) => Some(both),
            Err(error) if error.is_unavailable() => {
                eprintln!("skipped: {error}: {}", error.help());
                None
            }
            Err(error) => panic!("{error}"),
        }
    });
    all.as_ref()
}

#[test]
fn a_guest_gives_exit_code_console_and_files() {
    let Some((machine, kernel)) = machine() else { return };
    let this = Program::of(&std::env::current_exe().unwrap()).unwrap();
    let guest = Guest {
        modules: vec!["tun".into(), "vfio-pci".into()],
        files: vec![File::text("/in/a", "hello\n")],
        programs: vec![("this-test".into(), this)],
        command: "cat /in/a; uname -r > /tmp/release; seq 100000 > /tmp/many
            [ -c /dev/net/tun ] && [ -c /dev/vfio/vfio ] || exit 1
            this-test --list > /tmp/tests; exit 7"
            .into(),
        outputs: ["/tmp/release", "/tmp/many", "/tmp/tests", "/none"].map(String::from).to_vec(),
        ..Guest::default()
    };
    let mut events = Vec::new();
    let outcome = machine
        .run(kernel, &guest, &mut |event| match event {
            Event::Up => events.push("up".to_owned()),
            Event::Line(line) => events.push(line.to_owned()),
            Event::Exit(code) => events.push(format!("exit {code}")),
        })
        .unwrap();
    assert_eq!(outcome.exit, 7, "{}", outcome.console);
    eprintln!("up after {:?}, gone after {:?}", outcome.boot, outcome.elapsed);
    assert!(outcome.refused.is_empty(), "{:?}", outcome.refused);
    let at = |text: &str| events.iter().position(|event| event == text);
    assert!(at("up") < at("hello") && at("hello") < at("exit 7"), "{events:?}");
    let text = |path: &str| String::from_utf8(outcome.outputs[path].clone()).unwrap();
    assert_eq!(text("/tmp/release").trim(), kernel.release());
    let many: String = (1..=100_000).map(|n| format!("{n}\n")).collect();
    assert!(text("/tmp/many") == many);
    assert!(text("/tmp/tests").contains("a_guest_that_hangs_is_ended: test"));
    assert!(!outcome.outputs.contains_key("/none"));
}

#[test]
fn a_guest_that_hangs_is_ended() {
    let Some((machine, kernel)) = machine() else { return };
    let limit = Duration::from_secs(1);
    let guest = Guest { command: "echo begun; sleep 600".into(), limit, ..Guest::default() };
    let mut up = None;
    let result = machine.run(kernel, &guest, &mut |event| {
        if event == Event::Up {
            up = Some(Instant::now());
        }
    });
    let error = result.unwrap_err();
    assert!(up.unwrap().elapsed() < Duration::from_secs(60));
    let text = error.to_string();
    let what = "the guest's command took longer than 1 s; the last that was heard: ";
    assert!(text.starts_with(what) && text.ends_with("begun"), "{text}");
}

#[test]
fn a_guest_that_goes_early_is_an_error() {
    let Some((machine, kernel)) = machine() else { return };
    let guest = Guest { command: "echo c > /proc/sysrq-trigger".into(), ..Guest::default() };
    let error = machine.run(kernel, &guest, &mut |_| {}).unwrap_err();
    assert!(matches!(&error, Error::GuestLost { said, .. } if said.contains("panic")), "{error}");
}

/// Numbers of the processes that a process has started.
fn children(of: u32) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap();
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let is_child = |number: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
        let fields = stat.rsplit(')').next().unwrap_or_default();
        fields.split_whitespace().nth(1) == Some(&of.to_string())
    };
    numbers.filter(is_child).collect()
}

#[test]
fn qemu_goes_with_its_owner() {
    if machine().is_none() {
        return;
    }
    let log = tempfile::NamedTempFile::new().unwrap();
    let args = ["--exact", "a_guest_that_hangs_is_ended"];
    let mut owner =
        Background::start(&std::env::current_exe().unwrap(), &args, log.path()).unwrap();
    let start = Instant::now();
    let wait = |what: &str, done: &mut dyn FnMut() -> bool| {
        while !done() {
            assert!(start.elapsed() < Duration::from_secs(60), "waited for {what}");
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    let mut qemu = Vec::new();
    wait("QEMU", &mut || {
        qemu = children(owner.id());
        // It has read its arguments once its processor has a thread.
        let threads =
            |n: &u32| std::fs::read_dir(format!("/proc/{n}/task")).map_or(0, Iterator::count);
        qemu.retain(|n| threads(n) > 2);
        !qemu.is_empty()
    });
    owner.kill();
    let gone = |n: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{n}/stat")).unwrap_or_default();
        stat.is_empty() || stat.contains(") Z ")
    };
    wait("QEMU's end", &mut || qemu.iter().all(gone));
}
