//! Lists the target models in targets/, so that adding one takes a file and nothing else.

use std::fmt::Write;
use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?;
    let targets = Path::new(&root).join("../targets").canonicalize()?;
    println!("cargo::rerun-if-changed={}", targets.display());
    let mut files: Vec<_> = fs::read_dir(&targets)?.collect::<Result<_, _>>()?;
    files.sort_by_key(|f| f.path().with_extension(""));
    let mut list = String::from("const SHIPPED: &[Shipped] = &[\n");
    for file in files {
        let path = file.path();
        if path.extension().is_none_or(|e| e != "toml") {
            continue;
        }
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        writeln!(list, "    Shipped {{ name: {name:?}, text: include_str!({path:?}) }},").map_err(io::Error::other)?;
    }
    list.push_str("];\n");
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    fs::write(Path::new(&out).join("shipped.rs"), list)
}
