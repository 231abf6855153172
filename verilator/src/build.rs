//! Verilog text to a shared object: verilate, write the shim, compile, link, keep.
//!
//!   text ──► verilator ──► C++ ──► few units ──► g++ -c (all processors) ──► g++ -shared ──► cache
//!
//! Reading Verilator's headers takes a second per g++ call, so that its many files are joined into
//! as few units as keep the processors busy.
//!
//! Invariants: the key covers all that the result depends on (`key_covers_text_and_options`).
//! Not here: `--threads`; it is slower by a factor of ten on few shared processors.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::cache::{self, Cache, Key, at};
use crate::{Error, Tool, Toolbox, shim};

/// What to simulate.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Name of the top module.
    pub top: &'a str,
    /// Verilog text with all modules.
    pub verilog: &'a str,
    /// Whether waves can be written; costs speed even while none are.
    pub trace: bool,
}

const VERILATE: [&str; 15] = [
    "--cc",
    "-O3",
    "--x-assign",
    "fast",
    "--x-initial",
    "fast",
    "--noassert",
    "--no-timing",
    "-Wno-fatal",
    "--prefix",
    "Vdut",
    "--output-split",
    "5000",
    "--output-split-cfuncs",
    "500",
];
const COMPILE: [&str; 8] = [
    "-march=native",
    "-fPIC",
    "-fvisibility=hidden",
    "-fno-gnu-unique",
    "-pthread",
    "-w",
    "-DVL_USER_FATAL",
    "-DVERILATOR=1",
];
const FAST: &str = "-O3";
/// Code that runs once, at construction.
const SLOW: &str = "-O0";
/// Verilator's own run time: little of a run is spent in it.
const RUNTIME: &str = "-O1";
/// Below this much C++ one unit compiles soonest.
const SMALL_BYTES: u64 = 200_000;
const LINK: [&str; 4] = ["-shared", "-pthread", "-Wl,-Bsymbolic", "-o"];

/// The shared object for `source`, from the cache or newly built.
pub(crate) fn shared_object(source: &Source, tools: &Toolbox) -> Result<PathBuf, Error> {
    let cache = Cache::open(tools)?;
    let versions = [tools.verilator_version()?.text, tools.gxx_version()?];
    let key = key(source, &versions);
    cache.entry(&format!("{key}.so"), |file| {
        Builder { source, tools, cache: &cache, versions: &versions }.build(file)
    })
}

/// Adds what every compilation depends on.
fn add_tools(key: &mut Key, versions: &[String; 2]) {
    let flags = [&VERILATE[..], &COMPILE, &[FAST, SLOW, RUNTIME], &LINK].concat().join(" ");
    for part in [&versions[0], &versions[1], &flags, &cache::cpu_flags()] {
        key.add(part);
    }
}

fn key(source: &Source, versions: &[String; 2]) -> String {
    let mut key = Key::new("model");
    key.add(include_str!("shim.rs"));
    key.add(include_str!("build.rs"));
    key.add(source.top);
    key.add(source.verilog);
    key.add(if source.trace { "trace" } else { "" });
    add_tools(&mut key, versions);
    key.hex()
}

struct Builder<'a> {
    source: &'a Source<'a>,
    tools: &'a Toolbox,
    cache: &'a Cache,
    versions: &'a [String; 2],
}

impl Builder<'_> {
    fn build(&self, shared_object: &Path) -> Result<(), Error> {
        let scratch = self.cache.scratch()?;
        let directory = scratch.path();
        self.verilate(directory)?;
        let header = read(&directory.join("Vdut.h"))?;
        let ports = shim::ports(&header)?;
        let clock = shim::clock(self.source.top, &ports)?;
        let shim_file = directory.join("groove_shim.cpp");
        let text = shim::source(&ports, clock, self.source.trace);
        fs::write(&shim_file, text).map_err(at(&shim_file))?;

        let classes = read(&directory.join("Vdut_classes.mk"))?;
        let root = verilator_root(&read(&directory.join("Vdut.mk"))?)?;
        let runtime = self.runtime(&classes, &root)?;
        let file = |name: &str| directory.join(format!("{name}.cpp"));
        let mut fast = vec![shim_file];
        fast.extend(
            ["CLASSES_FAST", "SUPPORT_FAST"].iter().flat_map(|l| names(&classes, l)).map(file),
        );
        let slow =
            ["CLASSES_SLOW", "SUPPORT_SLOW"].iter().flat_map(|l| names(&classes, l)).map(file);
        let units = units(directory, fast, slow.collect())?;
        let mut objects = self.compile(&units, directory, &root)?;
        objects.extend(runtime);
        self.link(&objects, shared_object, directory)
    }

    fn verilate(&self, directory: &Path) -> Result<(), Error> {
        let file = directory.join("source.v");
        fs::write(&file, self.source.verilog).map_err(at(&file))?;
        let mut args = VERILATE.to_vec();
        args.extend(["--Mdir", ".", "--top-module", self.source.top, "source.v"]);
        if self.source.trace {
            args.push("--trace-fst");
        }
        self.tools.run(Tool::VERILATOR, directory, &args).map(|_| ())
    }

    /// Verilator's own run time, compiled once per version and flags.
    fn runtime(&self, classes: &str, root: &Path) -> Result<Vec<PathBuf>, Error> {
        let include = root.join("include");
        let mut list: Vec<String> = names(classes, "GLOBAL_FAST")
            .chain(names(classes, "GLOBAL_SLOW"))
            .map(str::to_owned)
            .collect();
        // Referred to by verilated.cpp even without threads, but not listed by every version.
        let threads = "verilated_threads".to_owned();
        if !list.contains(&threads) && include.join("verilated_threads.cpp").exists() {
            list.push(threads);
        }
        list.iter()
            .map(|unit| {
                let file = include.join(format!("{unit}.cpp"));
                let mut key = Key::new("runtime");
                key.add(&file.to_string_lossy());
                key.add(if self.source.trace { "trace" } else { "" });
                add_tools(&mut key, self.versions);
                self.cache.entry(&format!("{}.o", key.hex()), |object| {
                    self.compile_one(&file, RUNTIME, object, &include, root)
                })
            })
            .collect()
    }

    /// Compiles all units, as many at a time as there are processors.
    fn compile(
        &self,
        units: &[(PathBuf, &str)],
        directory: &Path,
        root: &Path,
    ) -> Result<Vec<PathBuf>, Error> {
        let next = AtomicUsize::new(0);
        let failure = Mutex::new(None);
        let objects: Vec<PathBuf> = units.iter().map(|u| u.0.with_extension("o")).collect();
        let work = || {
            while let index = next.fetch_add(1, Ordering::Relaxed)
                && let Some((file, level)) = units.get(index)
            {
                let result = self.compile_one(file, level, &objects[index], directory, root);
                if let Err(error) = result {
                    next.store(units.len(), Ordering::Relaxed);
                    *failure.lock().unwrap_or_else(|p| p.into_inner()) = Some(error);
                }
            }
        };
        let workers = std::thread::available_parallelism().map_or(1, usize::from).min(units.len());
        std::thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(work);
            }
        });
        match failure.into_inner().unwrap_or_else(|p| p.into_inner()) {
            Some(error) => Err(error),
            None => Ok(objects),
        }
    }

    fn compile_one(
        &self,
        file: &Path,
        level: &str,
        object: &Path,
        directory: &Path,
        root: &Path,
    ) -> Result<(), Error> {
        let include = root.join("include");
        let mut args: Vec<String> = COMPILE.map(String::from).to_vec();
        args.push(level.to_owned());
        args.push(format!("-I{}", include.display()));
        args.push(format!("-I{}", include.join("vltstd").display()));
        if self.source.trace {
            args.extend(["-DVM_TRACE=1", "-DVM_TRACE_FST=1"].map(String::from));
        }
        let (file, object) = (file.display().to_string(), object.display().to_string());
        args.extend(["-c".to_owned(), file, "-o".to_owned(), object]);
        self.tools.run(Tool::GXX, directory, &args).map(|_| ()).map_err(|error| match error {
            Error::ToolFailed { output, .. } if output.contains("zlib.h") => Error::ZlibMissing,
            other => other,
        })
    }

    fn link(&self, objects: &[PathBuf], shared: &Path, directory: &Path) -> Result<(), Error> {
        let mut args: Vec<String> = LINK.map(String::from).to_vec();
        args.push(shared.display().to_string());
        args.extend(objects.iter().map(|o| o.display().to_string()));
        if self.source.trace {
            args.push("-lz".to_owned());
        }
        self.tools.run(Tool::GXX, directory, &args).map(|_| ())
    }
}

/// Joins files into units for the processors there are.
fn units(
    directory: &Path,
    mut fast: Vec<PathBuf>,
    slow: Vec<PathBuf>,
) -> Result<Vec<(PathBuf, &'static str)>, Error> {
    let size = |file: &PathBuf| file.metadata().map_or(0, |m| m.len());
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    if fast.iter().chain(&slow).map(size).sum::<u64>() < SMALL_BYTES {
        fast.extend(slow);
        return Ok(vec![(unit(directory, "all", &fast)?, FAST)]);
    }
    let mut list = Vec::new();
    for (name, mut files, level) in [("fast", fast, FAST), ("slow", slow, SLOW)] {
        // The largest first, each to the unit that is smallest so far.
        files.sort_by_key(|file| std::cmp::Reverse(size(file)));
        let mut groups = vec![(0, Vec::new()); workers.min(files.len())];
        for file in files {
            if let Some(group) = groups.iter_mut().min_by_key(|group| group.0) {
                group.0 += size(&file);
                group.1.push(file);
            }
        }
        for (index, (_, files)) in groups.iter().enumerate() {
            list.push((unit(directory, &format!("{name}_{index}"), files)?, level));
        }
    }
    Ok(list)
}

/// A file that includes others.
fn unit(directory: &Path, name: &str, files: &[PathBuf]) -> Result<PathBuf, Error> {
    let path = directory.join(format!("unit_{name}.cpp"));
    let line = |file: &PathBuf| format!("#include \"{}\"\n", file.display());
    fs::write(&path, files.iter().map(line).collect::<String>()).map_err(at(&path))?;
    Ok(path)
}

fn read(file: &Path) -> Result<String, Error> {
    fs::read_to_string(file).map_err(at(file))
}

/// Words of `VM_<list> += a b c` with continued lines.
fn names<'a>(makefile: &'a str, list: &str) -> impl Iterator<Item = &'a str> + use<'a> {
    let head = format!("VM_{list} +=");
    let mut inside = false;
    makefile.lines().flat_map(move |line| {
        let line = if let Some(rest) = line.strip_prefix(&head) {
            inside = true;
            rest
        } else if inside {
            line
        } else {
            ""
        };
        inside &= line.trim_end().ends_with('\\');
        line.trim_end().trim_end_matches('\\').split_whitespace()
    })
}

/// Where Verilator's include directory is.
fn verilator_root(makefile: &str) -> Result<PathBuf, Error> {
    makefile
        .lines()
        .find_map(|line| line.strip_prefix("VERILATOR_ROOT ")?.trim_start().strip_prefix('='))
        .map(|path| PathBuf::from(path.trim()))
        .ok_or_else(|| Error::Generated("Vdut.mk names no VERILATOR_ROOT".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_covers_text_and_options() {
        let source = Source { top: "t", verilog: "module t; endmodule", trace: false };
        let versions = ["Verilator 5.006".to_owned(), "g++ 12".to_owned()];
        let base = key(&source, &versions);
        assert_eq!(base, key(&source, &versions));
        let newer = ["Verilator 5.048".to_owned(), "g++ 12".to_owned()];
        let others = [
            key(&Source { trace: true, ..source }, &versions),
            key(&Source { top: "u", ..source }, &versions),
            key(&Source { verilog: "module t;  endmodule", ..source }, &versions),
            key(&source, &newer),
        ];
        assert!(others.iter().all(|other| *other != base));
    }

    #[test]
    fn makefile_lists_are_read_with_continued_lines() {
        let text = "VM_A_FAST += \\\n\tVdut \\\n\tVdut_x \\\n\nVM_B_FAST += one\nVM_C += \\\n\n";
        assert_eq!(names(text, "A_FAST").collect::<Vec<_>>(), ["Vdut", "Vdut_x"]);
        assert_eq!(names(text, "B_FAST").collect::<Vec<_>>(), ["one"]);
        assert_eq!(names(text, "C").count(), 0);
        let root = verilator_root("PERL = perl\nVERILATOR_ROOT = /usr/share/verilator\n").unwrap();
        assert_eq!(root, Path::new("/usr/share/verilator"));
        assert!(verilator_root("nothing").is_err());
    }
}
