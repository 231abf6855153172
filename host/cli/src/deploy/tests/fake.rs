//! A card, the port above it, and the kernel's files of both.
//!
//! The port counts as a real one does: what latches while it is masked is cleared by writing ones,
//! and an error that is not masked is an alarm, which stops machines.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileExt, symlink};
use std::sync::Arc;

use groove_driver::pci_id::{DEVICE_ID, VENDOR_ID};
use groove_spec::stages::device::{CAPABILITIES, SPEC_ID};

use super::super::*;
use super::{BDF, bdf, bitstream};

const PORT: &str = "0000:3a:00.0";
/// Offsets in the port's configuration space.
const EXPRESS: u16 = 0x40;
const AER: u16 = 0x100;
const DPC: u16 = 0x200;
/// Registers whose bits are cleared by writing ones.
const LATCHES: [u16; 7] =
    [0x1e, EXPRESS + 0x0a, EXPRESS + 0x1a, AER + 4, AER + 0x10, AER + 0x30, DPC + 8];
const LINK_STATUS: u16 = EXPRESS + 0x12;
const LINK_UP: u32 = 1 << 13;

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The write to a configuration space of that number is refused.
    Poke(usize),
    /// A file of that name is refused.
    Refused(&'static str),
    /// A write to a file of that name does not come back.
    Hangs(&'static str),
    /// The kernel does not forget the function.
    Stays,
    /// The programmer fails before it changes anything.
    NoCable,
    /// And in the middle.
    Halfway,
    /// It has no end.
    Endless,
    /// The link stays down.
    NoLink,
    /// The bus is empty.
    NotFound,
    /// The bitstream is a stranger's.
    WrongId,
    /// Or of another version.
    WrongTable,
    /// vfio-pci does not take it.
    NoBind,
    /// The self-test fails.
    Untested,
}

/// What is on the chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Card {
    /// Vendor and device; zeros: no bitstream.
    pub id: (u16, u16),
    /// Its table.
    pub spec: u32,
}

impl Card {
    pub fn groove() -> Self {
        Self { id: (VENDOR_ID, DEVICE_ID), spec: groove_spec::SPEC_ID }
    }
    /// As a card is sold.
    pub fn factory() -> Self {
        Self { id: (0x10ee, 0x9038), spec: 0 }
    }
    pub fn blank() -> Self {
        Self { id: (0, 0), spec: 0 }
    }
}

/// All of the host that a deployment may change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// Bytes of the port's configuration space that are not zero, without its link's state.
    pub config: BTreeMap<usize, u8>,
    pub id: (u16, u16),
    pub driver: Option<String>,
    pub only: Option<String>,
}

pub struct Fake {
    root: tempfile::TempDir,
    below: PathBuf,
    card: Card,
    pub fault: Option<Fault>,
    /// The port cannot be written any more once the programmer has run.
    pub locked: bool,
    pub stop: Arc<AtomicBool>,
    /// Operation at which Ctrl-C comes, and at which the process is killed.
    pub stop_at: Option<usize>,
    pub cut_at: Option<usize>,
    operations: usize,
    pokes: usize,
    pub log: Vec<String>,
    pub alarms: Vec<String>,
    pub programmed: bool,
    pub loaded: Vec<u8>,
}

impl Fake {
    pub fn new(card: Card, driver: Option<&str>) -> Self {
        let root = tempfile::tempdir().unwrap();
        let below = root.path().join("devices/pci0000:3a").join(PORT);
        let fake = Self {
            root,
            below,
            card,
            fault: None,
            locked: false,
            stop: Arc::default(),
            stop_at: None,
            cut_at: None,
            operations: 0,
            pokes: 0,
            log: vec![],
            alarms: vec![],
            programmed: false,
            loaded: vec![],
        };
        let pci = fake.sysfs().pci();
        for driver in ["vfio-pci", "xdma"] {
            fs::create_dir_all(pci.join("drivers").join(driver)).unwrap();
        }
        fs::create_dir_all(pci.join("devices")).unwrap();
        fs::create_dir_all(&fake.below).unwrap();
        for (name, text) in [("vendor", "0x8086"), ("device", "0x2030"), ("class", "0x060400")] {
            fs::write(fake.below.join(name), text).unwrap();
        }
        fs::write(fake.below.join("config"), config(card != Card::blank())).unwrap();
        symlink(&fake.below, pci.join("devices").join(PORT)).unwrap();
        fs::write(fake.file(), bitstream::xilinx(0x0363_6093, "7a200tfbg484", 256)).unwrap();
        fake.appear();
        fake.take(driver);
        if driver == Some("vfio-pci") {
            fake.function_file("driver_override", "vfio-pci\n");
        }
        fake
    }

    pub fn root(&self) -> &Path {
        self.root.path()
    }

    pub fn file(&self) -> PathBuf {
        self.root.path().join("x.bit")
    }

    pub fn sysfs(&self) -> Sysfs {
        Sysfs::at(self.root.path(), self.root.path().join("dev"))
    }

    /// Directory of the function.
    pub fn function(&self) -> PathBuf {
        self.below.join(BDF)
    }

    pub fn function_file(&self, name: &str, text: &str) {
        let path = self.function().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn state(&self) -> State {
        let function = self.sysfs().function(bdf());
        State {
            config: self.config(),
            id: function.as_ref().map_or((0, 0), |f| (f.vendor, f.device)),
            driver: function.as_ref().and_then(|f| f.driver.clone()),
            only: function.and_then(|f| f.driver_override),
        }
    }

    fn config(&self) -> BTreeMap<usize, u8> {
        let bytes = fs::read(self.below.join("config")).unwrap_or_default();
        let link = usize::from(LINK_STATUS)..usize::from(LINK_STATUS) + 2;
        let bytes = bytes.into_iter().enumerate();
        bytes.filter(|(at, byte)| *byte != 0 && !link.contains(at)).collect()
    }

    /// The card is on the root bus.
    pub fn leave_port(&mut self) {
        let above = self.root.path().join("devices/pci0000:3b");
        fs::create_dir_all(&above).unwrap();
        fs::rename(self.function(), above.join(BDF)).unwrap();
        self.below = above;
        let link = self.sysfs().directory(bdf());
        fs::remove_file(&link).unwrap();
        symlink(self.function(), link).unwrap();
    }

    fn register(&self, offset: u16) -> u32 {
        let config = fs::read(self.below.join("config")).unwrap();
        u32::from_le_bytes(config[offset.into()..][..4].try_into().unwrap())
    }

    fn set(&self, offset: u16, bytes: &[u8]) {
        let file = fs::OpenOptions::new().write(true).open(self.below.join("config")).unwrap();
        file.write_all_at(bytes, offset.into()).unwrap();
    }

    fn link(&self, up: bool) {
        if self.below.join("config").exists() {
            let status = self.register(LINK_STATUS) & 0xffff & !LINK_UP;
            let status = if up { status | LINK_UP } else { status };
            self.set(LINK_STATUS, &(status as u16).to_le_bytes());
        }
    }

    /// The function, if the card answers.
    fn appear(&self) {
        if self.card.id == (0, 0) || self.function().exists() {
            return;
        }
        let (vendor, device) = self.card.id;
        for (name, text) in [
            ("vendor", format!("{vendor:#06x}\n")),
            ("device", format!("{device:#06x}\n")),
            ("class", "0x020000\n".into()),
            ("driver_override", "(null)\n".into()),
            ("enable", "0\n".into()),
        ] {
            self.function_file(name, &text);
        }
        symlink("../../../kernel/iommu_groups/7", self.function().join("iommu_group")).unwrap();
        let mut bar = vec![0; 8192];
        bar[SPEC_ID.offset..][..4].copy_from_slice(&self.card.spec.to_le_bytes());
        let sizes: u32 = 4 | 64 << 8 | 8 << 16 | 8 << 24;
        bar[CAPABILITIES.offset..][..4].copy_from_slice(&sizes.to_le_bytes());
        fs::write(self.function().join("resource0"), bar).unwrap();
        let link = self.sysfs().directory(bdf());
        let _ = fs::remove_file(&link);
        symlink(self.function(), link).unwrap();
        self.probe();
    }

    fn disappear(&self) {
        fs::remove_dir_all(self.function()).unwrap();
        fs::remove_file(self.sysfs().directory(bdf())).unwrap();
    }

    fn take(&self, driver: Option<&str>) {
        let _ = fs::remove_file(self.function().join("driver"));
        if let Some(driver) = driver
            && self.function().exists()
        {
            symlink(
                format!("../../../../bus/pci/drivers/{driver}"),
                self.function().join("driver"),
            )
            .unwrap();
        }
    }

    /// The kernel's own choice is a driver for the factory's bitstream.
    fn probe(&self) {
        let Some(function) = self.sysfs().function(bdf()) else { return };
        let native = (self.card == Card::factory()).then(|| "xdma".to_owned());
        let driver = function.driver_override.or(native);
        let refused = self.fault == Some(Fault::NoBind) && driver.as_deref() == Some("vfio-pci");
        if function.driver.is_none() && !refused {
            self.take(driver.as_deref());
        }
    }

    /// Something happens; it may be the last thing.
    fn operate(&mut self, what: String) {
        self.operations += 1;
        self.log.push(what);
        if self.cut_at == Some(self.operations) {
            // What unwinds is no message to anybody.
            std::panic::resume_unwind(Box::new("killed"));
        }
        if self.stop_at == Some(self.operations) {
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    /// The link goes down and the port notices.
    fn vanish(&mut self) {
        self.link(false);
        if !self.below.join("config").exists() {
            return;
        }
        let or = |offset: u16, bits: u32| {
            self.set(offset, &(self.register(offset) | bits).to_le_bytes());
        };
        or(AER + 4, 1 << 5);
        or(EXPRESS + 0x0a, 4 << 16 >> 16);
        or(EXPRESS + 0x1a, 0x0108);
        self.look("while it was programmed");
    }

    /// Whether what has latched is told.
    fn look(&mut self, when: &str) {
        let down = self.register(AER + 4) & 1 << 5 != 0;
        let told = [
            ("surprise down", down && self.register(AER + 8) & 1 << 5 == 0),
            (
                "an error message",
                self.register(EXPRESS + 0x0a) & 4 != 0 && self.register(EXPRESS + 8) & 4 != 0,
            ),
            (
                "hot-plug",
                self.register(EXPRESS + 0x1a) & 0x108 != 0
                    && self.register(EXPRESS + 0x18) & 0x1008 != 0,
            ),
            ("containment", down && self.register(DPC + 6) & 3 != 0),
        ];
        for (what, _) in told.into_iter().filter(|(_, told)| *told) {
            self.alarms.push(format!("{what} {when}"));
        }
    }
}

/// Configuration space of a root port.
fn config(link: bool) -> Vec<u8> {
    let mut config = vec![0; 4096];
    let mut set = |offset: u16, value: u32, bytes: usize| {
        config[offset.into()..][..bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
    };
    set(0x04, 0x0547, 2);
    set(0x06, 0x0010, 2);
    set(0x0e, 0x01, 1);
    set(0x19, 0x3b, 1);
    set(0x34, EXPRESS.into(), 1);
    set(0x3e, 0x0003, 2);
    // Root port, with a slot.
    set(EXPRESS, 0x0142_0010, 4);
    set(EXPRESS + 0x08, 0x293f, 2);
    set(EXPRESS + 0x0c, 1 << 20, 4);
    set(LINK_STATUS, if link { LINK_UP } else { 0 }, 2);
    set(EXPRESS + 0x18, 0x13f8, 2);
    set(EXPRESS + 0x1c, 0x0007, 2);
    set(AER, 0x2002_0001, 4);
    set(AER + 0x2c, 0x7, 4);
    set(DPC, 0x0001_001d, 4);
    set(DPC + 6, 0x0001, 2);
    config
}

impl Kernel for Fake {
    fn write(&mut self, path: &Path, text: &str) -> io::Result<()> {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        self.operate(format!("{name} {text}"));
        match self.fault {
            Some(Fault::Refused(refused)) if refused == name => {
                return Err(io::ErrorKind::PermissionDenied.into());
            }
            Some(Fault::Hangs(hangs)) if hangs == name => {
                return Err(io::ErrorKind::TimedOut.into());
            }
            _ => {}
        }
        match name.as_str() {
            "driver_override" => self.function_file("driver_override", &format!("{text}\n")),
            "enable" => self.function_file("enable", &format!("{text}\n")),
            "unbind" => self.take(None),
            "drivers_probe" => self.probe(),
            "remove" if self.fault != Some(Fault::Stays) => self.disappear(),
            "remove" => {}
            "rescan" => {
                let up = !self.below.join("config").exists()
                    || self.register(LINK_STATUS) & LINK_UP != 0;
                if up && self.fault != Some(Fault::NotFound) {
                    self.appear();
                }
            }
            _ => panic!("{} is not written", path.display()),
        }
        Ok(())
    }
}

impl Hardware for Fake {
    fn poke(&mut self, path: &Path, offset: u16, bytes: &[u8]) -> io::Result<()> {
        assert_eq!(path.canonicalize().unwrap(), self.below.join("config").canonicalize().unwrap());
        self.operate(format!("config {offset:#x}"));
        self.pokes += 1;
        if self.fault == Some(Fault::Poke(self.pokes))
            || self.locked && self.log.contains(&"program".into())
        {
            return Err(io::Error::other("refused"));
        }
        if LATCHES.contains(&offset) {
            let now = self.register(offset).to_le_bytes();
            let cleared: Vec<u8> = bytes.iter().zip(now).map(|(ones, now)| now & !ones).collect();
            self.set(offset, &cleared);
            return Ok(());
        }
        if offset == EXPRESS + 0x10 {
            // The bit that has the link trained reads as zero.
            self.set(offset, &[bytes[0] & !0x20, bytes[1]]);
            self.link(self.card.id != (0, 0) && self.fault != Some(Fault::NoLink));
            return Ok(());
        }
        self.set(offset, bytes);
        self.look("when it was unmasked");
        Ok(())
    }

    fn program(
        &mut self,
        programmer: &Programmer,
        file: &Path,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), ProgrammerError> {
        self.operate("program".into());
        let failed = |said: &str| ProgrammerError::Failed {
            program: "it".into(),
            how: "exit status: 1".into(),
            said: said.into(),
        };
        if self.fault == Some(Fault::NoCable) {
            return Err(failed("no cable"));
        }
        if stop() {
            return Err(ProgrammerError::Interrupted("it".into()));
        }
        self.vanish();
        self.card = Card::blank();
        match self.fault {
            Some(Fault::Halfway) => return Err(failed("cut")),
            Some(Fault::Endless) => {
                let (program, limit_s) = ("it".into(), programmer.limit_s);
                return Err(ProgrammerError::TooLong { program, limit_s, said: "...".into() });
            }
            _ => {}
        }
        self.loaded = fs::read(file).unwrap();
        self.programmed = true;
        self.card = match self.fault {
            Some(Fault::WrongId) => Card::factory(),
            Some(Fault::WrongTable) => Card { spec: 1, ..Card::groove() },
            _ => Card::groove(),
        };
        Ok(())
    }

    fn test(&mut self, tested: Bdf) -> Result<SelfTest, TestError> {
        self.operate("test".into());
        assert_eq!((tested, self.state().driver.as_deref()), (bdf(), Some("vfio-pci")));
        match self.fault {
            Some(Fault::Untested) => Err(TestError::NoDma),
            _ => Ok(SelfTest { queues: 4, width: 512, ..SelfTest::default() }),
        }
    }

    fn sleep(&mut self, _time: Duration) {}
}
