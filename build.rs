//! Compiles the Java runtime that woven code calls, for the agent to embed, and packs the public Java API, `cprof-api.jar`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The classes of the runtime; their common constants are compiled into them.
const RUNTIME: [&str; 6] = ["CProfRuntime", "CProfTree", "CProfThreads", "CProfSlots", "CProfMemory", "CProfCaches"];
/// The two compilations of them, by folder: for most runs, and for all others.
const VARIANTS: [&str; 2] = ["simple", "full"];
/// Class files that JDK 17 and later load.
const RELEASE: &str = "17";
/// Class files of the API: the oldest that current compilers write, since programs that call it run elsewhere without cprof, too.
const API_RELEASE: &str = "8";

fn main() {
    println!("cargo::rerun-if-changed=runtime-java");
    println!("cargo::rerun-if-env-changed=JAVA_HOME");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let javac = javac();
    // java.lang.CProfRuntime and its helpers are compiled as a part of java.base, where it will live; stubs stand for classes
    // that only newer JDKs have.
    for variant in VARIANTS {
        let mut command = compiler(&javac, &out.join(variant));
        command.arg("--patch-module").arg("java.base=runtime-java/src:runtime-java/stubs");
        run(command
            .arg("runtime-java/src/java/lang/CProfLayout.java")
            .arg(format!("runtime-java/{variant}/java/lang/CProfVariant.java"))
            .args(RUNTIME.map(|name| format!("runtime-java/src/java/lang/{name}.java"))));
    }
    let connected = out.join("connected");
    let mut command = compiler(&javac, &connected);
    let mut patch = std::ffi::OsString::from("java.base=");
    patch.push(out.join(VARIANTS[0]));
    command.arg("--patch-module").arg(patch);
    run(command.arg("runtime-java/connected/cprof/CProf.java"));
    pack_api(&javac, &out);
    pack_junit(&javac, &out);
}

/// Puts `cprof-api.jar` beside the library that cargo is building.
fn pack_api(javac: &Path, out: &Path) {
    let classes = out.join("api");
    compile_api(javac, &classes, &["runtime-java/api"], &["runtime-java/api/cprof/CProf.java"]);
    pack(javac, out, "cprof-api.jar", &classes, &["cprof/CProf.class"]);
}

/// Puts `cprof-junit.jar` there, too: the JUnit extension, compiled against stubs of the few interfaces of JUnit that it uses.
fn pack_junit(javac: &Path, out: &Path) {
    let classes = out.join("junit");
    compile_api(
        javac,
        &classes,
        &["runtime-java/api", "runtime-java/stubs-junit"],
        &["runtime-java/junit/cprof/junit/BytecodeBudget.java", "runtime-java/junit/cprof/junit/BytecodeBudgetExtension.java"],
    );
    let files = ["cprof/junit/BytecodeBudget.class", "cprof/junit/BytecodeBudgetExtension.class"];
    pack(javac, out, "cprof-junit.jar", &classes, &files);
}

/// What these sources refer to is looked up in `path`, and not put with them.
fn compile_api(javac: &Path, classes: &Path, path: &[&str], sources: &[&str]) {
    let mut compile = Command::new(javac);
    compile.args(["--release", API_RELEASE, "-g", "-proc:none", "-implicit:none", "-Xlint:-options", "-encoding", "UTF-8"]);
    compile.arg("-sourcepath").arg(env::join_paths(path).expect("no path has a colon"));
    // Nothing of the environment's.
    compile.args(["-cp", "runtime-java/api", "-d"]).arg(classes);
    run(compile.args(sources));
}

fn pack(javac: &Path, out: &Path, name: &str, classes: &Path, files: &[&str]) {
    // Cargo places only what it links itself; OUT_DIR is <target>/<profile>/build/<package>/out.
    let profile = out.ancestors().nth(3).expect("OUT_DIR is four levels below cargo's target directory");
    let mut jar = Command::new(javac.with_file_name("jar"));
    // The same source gives the same bytes: no time of day, no compiler's name (which a manifest would have), no compression.
    jar.args(["--create", "--no-manifest", "--no-compress", "--date", "1980-01-01T00:00:02Z", "--file"]);
    jar.arg(profile.join(name));
    for file in files {
        jar.arg("-C").arg(classes).arg(file);
    }
    run(&mut jar);
}

fn compiler(javac: &Path, out: &Path) -> Command {
    let mut command = Command::new(javac);
    command.args(["-source", RELEASE, "-target", RELEASE, "-g:none", "-proc:none", "-implicit:none"]);
    command.args(["-Xlint:-options", "-encoding", "UTF-8", "-d"]).arg(out);
    command
}

fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    if !output.status.success() {
        panic!("{command:?} failed:\n{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// The Java compiler: of JAVA_HOME, of PATH, or of an installed JDK.
fn javac() -> PathBuf {
    let home = env::var_os("JAVA_HOME").map(|home| Path::new(&home).join("bin/javac"));
    let path = env::var_os("PATH").unwrap_or_default();
    let on_path = env::split_paths(&path).map(|dir| dir.join("javac"));
    let mut installed: Vec<PathBuf> =
        fs::read_dir("/usr/lib/jvm").into_iter().flatten().flatten().map(|dir| dir.path().join("bin/javac")).collect();
    installed.sort();
    let mut candidates = home.into_iter().chain(on_path).chain(installed);
    candidates.find(|javac| javac.is_file()).unwrap_or_else(|| {
        panic!(
            "no Java compiler found in JAVA_HOME, PATH or /usr/lib/jvm. Install a JDK 17 or later \
             (Debian: apt-get install openjdk-17-jdk-headless) or set JAVA_HOME"
        )
    })
}
