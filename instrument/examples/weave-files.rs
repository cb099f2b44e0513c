//! Weaves every class file below a folder and says how fast, and what was left out.
//!
//! `weave-files IN [OUT]`: with OUT, the woven classes are written there under the same names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cprof_instrument::classfile::{ClassFile, Method};
use cprof_instrument::weave::Policy;
use cprof_instrument::{Level, Options, Treatment, Weaver};

/// Counts everything, numbering as it goes.
struct Everything {
    next: u32,
}

impl Policy for Everything {
    fn treat(&mut self, _: &ClassFile<'_>, method: &Method<'_>) -> Result<Treatment, &'static str> {
        if method.name == b"finalize" {
            // HotSpot calls every object finalizable whose finalize() is more than a bare return.
            return Err("a finalizer");
        }
        Ok(Treatment::default())
    }

    fn id(&mut self, _: &Method<'_>, _: u16, _: bool) -> Option<u32> {
        self.next += 1;
        Some(self.next)
    }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|e| e == "class") {
            files.push(path);
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let input = PathBuf::from(arguments.next().ok_or("usage: weave-files IN [OUT]")?);
    let output = arguments.next().map(PathBuf::from);
    let mut files = Vec::new();
    collect(&input, &mut files)?;
    files.sort();
    let classes = files.iter().map(std::fs::read).collect::<Result<Vec<_>, _>>()?;
    let options = Options { level: Level::Precise, sites: false, caches: false, inherited_calls: false, maps: false };
    let mut policy = Everything { next: 16 };
    let mut weaver = Weaver::new();
    let (mut methods, mut leaves, mut blocks_only, mut grown) = (0u64, 0u64, 0u64, 0i64);
    let mut skipped: BTreeMap<String, u64> = BTreeMap::new();
    let mut weaving = Duration::ZERO;
    for (path, class) in files.iter().zip(&classes) {
        // A woven class is let go before the next, as in a JVM: what is timed is weaving, not memory for all of them at once.
        let begin = Instant::now();
        let result = weaver.weave(class, &options, &mut policy);
        weaving += begin.elapsed();
        let bytes = match result {
            Ok(Some(woven)) => {
                methods += woven.methods.len() as u64;
                leaves += woven.methods.iter().filter(|m| m.leaf).count() as u64;
                blocks_only += woven.methods.iter().filter(|m| m.level == Level::Block).count() as u64;
                grown += woven.bytes.len() as i64 - class.len() as i64;
                for s in &woven.skipped {
                    *skipped.entry(s.reason.to_string()).or_default() += 1;
                }
                woven.bytes
            }
            Ok(None) => class.clone(),
            Err(error) => {
                *skipped.entry(format!("class {}: {error}", path.display())).or_default() += 1;
                class.clone()
            }
        };
        if let Some(output) = &output {
            let to = output.join(path.strip_prefix(&input)?);
            std::fs::create_dir_all(to.parent().ok_or("no parent folder")?)?;
            std::fs::write(to, bytes)?;
        }
    }
    let classes = classes.len();
    println!("{classes} classes, {methods} methods ({leaves} leaves, {blocks_only} to the block only)");
    println!(
        "{:.0} methods/s, {:.1} bytes more per method",
        methods as f64 / weaving.as_secs_f64(),
        grown as f64 / methods as f64
    );
    for (reason, count) in skipped {
        println!("left out: {count} × {reason}");
    }
    Ok(())
}
