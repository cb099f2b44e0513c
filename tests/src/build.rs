//! Compiles what the tests run, once per change of its sources, into `cprof-tests/` of cargo's target directory.

use crate::jdk::Jdk;
use crate::run::Bench;
use crate::{OrFail, assemble, program};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// What was built for a JDK.
#[derive(Debug, Clone)]
pub struct Built {
    /// `-cp` for the programs.
    pub class_path: String,
    /// The oracle.
    pub oracle: PathBuf,
    /// Where `System.loadLibrary` finds `upcalls`.
    pub native: PathBuf,
    /// Changes when anything above does.
    pub key: u64,
    /// Where results of its runs go.
    pub results: PathBuf,
}

/// Where everything goes that the tests make.
pub fn directory() -> PathBuf {
    let test = std::env::current_exe().or_fail("finding this test's file");
    // <target>/<profile>/deps/<test>
    let target = test.ancestors().nth(3).expect("cargo puts tests into <target>/<profile>/deps");
    let directory = target.join("cprof-tests");
    std::fs::create_dir_all(&directory).or_fail(directory.display());
    directory
}

/// For names of unfinished files: no other test and no other process gets the same.
pub fn unique() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A directory of that name, made empty, in [`directory`].
pub fn fresh(name: &str) -> PathBuf {
    let directory = directory().join(name);
    let _ = std::fs::remove_dir_all(&directory); // it need not exist
    std::fs::create_dir_all(&directory).or_fail(directory.display());
    directory
}

/// A file that `cargo build --release` makes: the agent or the command. `CPROF_RELEASE_DIR` says where, if not in the usual
/// place.
pub fn release(file: &str) -> PathBuf {
    let directory = match std::env::var_os("CPROF_RELEASE_DIR") {
        Some(directory) => PathBuf::from(directory),
        None => directory().with_file_name("release"),
    };
    let path = directory.join(file);
    assert!(path.exists(), "{} is not there; run `cargo build --release` first", path.display());
    path
}

/// The agent.
pub fn agent() -> PathBuf {
    release("libcprof.so")
}

/// The option by which a JVM starts with the agent. `options`: the agent's, but for the file of the profile.
pub fn agent_option(options: &str, out: &Path) -> String {
    library_option(&agent(), options, out)
}

/// As [`agent_option`], for another build of the agent, or the oracle.
pub fn library_option(library: &Path, options: &str, out: &Path) -> String {
    let comma = if options.is_empty() { "" } else { "," };
    format!("-agentpath:{}={options}{comma}out={}", library.display(), out.display())
}

/// As [`agent_option`], of all that the agent is told.
pub fn agent_with(options: &str) -> String {
    format!("-agentpath:{}={options}", agent().display())
}

/// The `cprof` command.
pub fn cprof() -> PathBuf {
    release("cprof")
}

/// Runs a command that must succeed.
pub fn must(command: &mut Command) -> String {
    let output = command.output().or_fail(format_args!("starting {command:?}"));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{command:?} ended with {}:\n{}{text}",
        output.status,
        String::from_utf8_lossy(&output.stdout)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The jar of a Java agent, whose classes are on the class path.
pub fn agent_jar(jdk: &Jdk, class: &str) -> PathBuf {
    let made = cached("agent-jar", key(manifest(class), &[]), |out| drop(agent_jar_of(jdk, out, class, &[])));
    made.join(format!("{class}.jar"))
}

fn manifest(class: &str) -> String {
    format!("Premain-Class: {class}\nAgent-Class: {class}\nCan-Retransform-Classes: true\nCan-Redefine-Classes: true\n")
}

/// As [`agent_jar`], in the directory, with these files of the directory.
pub fn agent_jar_of(jdk: &Jdk, directory: &Path, class: &str, files: &[&str]) -> PathBuf {
    let (text, jar) = (directory.join("manifest"), directory.join(format!("{class}.jar")));
    std::fs::write(&text, manifest(class)).or_fail(text.display());
    let mut command = jdk.command("jar");
    command.arg("cfm").args([&jar, &text]);
    files.iter().for_each(|file| {
        command.arg("-C").arg(directory).arg(file);
    });
    must(&mut command);
    jar
}

/// The programs in a jar: classes of directories are in no archive. What is for newer JDKs is left out.
pub fn programs_jar(bench: &Bench) -> PathBuf {
    let classes = std::env::split_paths(&bench.built.class_path).next().expect("a directory");
    let made = cached(&format!("programs-{}", bench.jdk.feature), bench.built.key, |out| {
        must(bench.jdk.command("jar").arg("cf").arg(out.join("programs.jar")).arg("-C").arg(classes).arg("."));
    });
    made.join("programs.jar")
}

/// A hash of files' names and contents.
fn hash_files(files: &[PathBuf], hasher: &mut DefaultHasher) {
    for file in files {
        file.file_name().hash(hasher);
        std::fs::read(file).or_fail(file.display()).hash(hasher);
    }
}

/// What [`cached`] things are told apart by: these files, and what else they are made of.
fn key(of: impl Hash, files: &[PathBuf]) -> u64 {
    let mut key = DefaultHasher::new();
    of.hash(&mut key);
    hash_files(files, &mut key);
    key.finish()
}

/// The files below a directory with that extension, sorted.
fn files(directory: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).or_fail(directory.display());
    let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) = entries.flatten().map(|e| e.path()).partition(|path| path.is_dir());
    let with_it = files.into_iter().filter(|file| file.extension().is_some_and(|e| e == extension));
    let mut files: Vec<PathBuf> = with_it.chain(folders.iter().flat_map(|folder| self::files(folder, extension))).collect();
    files.sort();
    files
}

/// Makes a directory by `make`, unless one for the same key is there. Made beside and renamed, so that a broken build leaves
/// nothing.
pub(crate) fn cached(name: &str, key: u64, make: impl FnOnce(&Path)) -> PathBuf {
    static MAKING: Mutex<BTreeMap<PathBuf, Arc<Mutex<()>>>> = Mutex::new(BTreeMap::new());
    let done = directory().join(format!("{name}-{key:016x}"));
    // Two threads that want the same do not make it twice.
    let making = MAKING.lock().unwrap_or_else(PoisonError::into_inner).entry(done.clone()).or_default().clone();
    let _making = making.lock().unwrap_or_else(PoisonError::into_inner);
    if !done.exists() {
        let unfinished = fresh(&format!("{name}-unfinished-{}", unique()));
        make(&unfinished);
        if std::fs::rename(&unfinished, &done).is_err() {
            assert!(done.exists(), "{} cannot be renamed to {}", unfinished.display(), done.display());
        }
    }
    done
}

fn shared_object(jdk: &Jdk, name: &str, sources: &[PathBuf], key: u64) -> PathBuf {
    let made = cached(&format!("{name}-{}", jdk.feature), key, |out| {
        let include = jdk.home.join("include");
        let mut cc = Command::new("cc");
        cc.args(["-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-pthread"]);
        cc.arg("-I").arg(&include).arg("-I").arg(include.join("linux"));
        must(cc.arg("-o").arg(out.join(format!("lib{name}.so"))).args(sources));
    });
    made.join(format!("lib{name}.so"))
}

/// The classes of these sources, compiled by a JDK for the oldest that cprof knows. Made anew when a jar of the class path
/// changes.
fn compiled(name: &str, jdk: &Jdk, sources: &[PathBuf], class_path: &str) -> PathBuf {
    let jars = std::env::split_paths(class_path).filter(|path| path.is_file());
    let key = key(&jdk.version, &sources.iter().cloned().chain(jars).collect::<Vec<_>>());
    cached(name, key, |out| {
        let mut javac = jdk.command("javac");
        javac.args(["-Xlint:none", "-g", "--release", "17", "-d"]).arg(out);
        if !class_path.is_empty() {
            javac.args(["-cp", class_path]);
        }
        must(javac.args(sources));
    })
}

/// The classes of `examples/embedded`.
pub fn examples(jdk: &Jdk) -> PathBuf {
    compiled("examples", jdk, &files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/embedded"), "java"), "")
}

/// Compiles the programs that use the public API, against `cprof-api.jar`; answers a class path of both.
pub fn with_api(jdk: &Jdk) -> String {
    let jar = release("cprof-api.jar").display().to_string();
    format!("{}:{jar}", compiled("api", jdk, &program::sources_of("api"), &jar).display())
}

/// The class that random classes use.
pub fn random(jdk: &Jdk) -> PathBuf {
    compiled("random", jdk, &program::sources_of("random"), "")
}

/// Compiles everything for a JDK: the programs of each level with the oldest JDK that knows the level, so that all JDKs run the
/// same class files.
pub fn for_jdk(jdk: &Jdk, all: &[Jdk]) -> Built {
    let sources = program::sources(jdk.feature);
    let mut levels: Vec<u32> = sources.iter().map(|(_, level)| *level).collect();
    levels.sort();
    levels.dedup();
    let mut class_path: Vec<String> = Vec::new();
    let mut hasher = DefaultHasher::new();
    // The JDK looks through the libraries that were loaded by the hashes of their paths: what is counted depends on where
    // everything is.
    (directory(), &jdk.home, &jdk.version).hash(&mut hasher);
    for level in levels {
        let compiler = all.iter().find(|j| j.feature >= level).expect("the JDK itself compiles it");
        let mine: Vec<PathBuf> = sources.iter().filter(|(_, l)| *l == level).map(|(path, _)| path.clone()).collect();
        let assembled = assemble::classes();
        let key = key((&compiler.version, level, &assembled), &mine);
        key.hash(&mut hasher);
        let classes = cached(&format!("classes-{level}"), key, |out| {
            for (name, bytes) in &assembled {
                std::fs::write(out.join(format!("{name}.class")), bytes).or_fail(out.display());
            }
            let mut javac = compiler.command("javac");
            javac.args(["-Xlint:none", "-g", "--release", &level.to_string(), "-cp"]).arg(out).arg("-d").arg(out);
            must(javac.args(&mine));
        });
        class_path.push(classes.display().to_string());
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let oracle_sources = files(&here.join("oracle"), "c");
    let native_sources = files(&program::directory().join("native"), "c");
    hash_files(&oracle_sources, &mut hasher);
    hash_files(&files(&here.join("oracle"), "h"), &mut hasher);
    hash_files(&native_sources, &mut hasher);
    let key = hasher.finish();
    let upcalls = shared_object(jdk, "upcalls", &native_sources, key);
    Built {
        class_path: class_path.join(":"),
        oracle: shared_object(jdk, "oracle", &oracle_sources, key),
        native: upcalls.parent().expect("it is in a directory").to_owned(),
        key,
        results: directory(),
    }
}

/// Programs that use jars from Maven Central.
pub struct Libraries {
    /// Their folder in `tests/programs`.
    folder: &'static str,
    /// How the names of the jars' files begin. `tests/real/pom.xml` has their versions.
    jars: &'static [&'static str],
}

/// Programs that are compared with the oracle.
pub const LIBRARIES: Libraries = Libraries { folder: "libraries", jars: &["asm-", "freemarker-", "jackson-core-"] };
/// Servers.
pub const SERVERS: Libraries = Libraries { folder: "servers", jars: &["tomcat-embed-core-", "tomcat-annotations-api-", "h2-"] };
/// Programs with other agents in them.
pub const AGENTS: Libraries = Libraries { folder: "agents", jars: &["byte-buddy-", "org.jacoco.core-"] };

/// A jar of `tests/real/pom.xml` whose file's name begins so. Fetches them once, by `scripts/jars`.
pub fn jar(prefix: &str) -> PathBuf {
    static JARS: OnceLock<Vec<PathBuf>> = OnceLock::new();
    // One that cannot be fetched is said to every test.
    let jars = JARS.get_or_init(|| {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/jars");
        files(Path::new(must(&mut Command::new(script)).trim()), "jar")
    });
    let named = |jar: &&PathBuf| jar.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix));
    jars.iter().find(named).unwrap_or_else(|| panic!("no jar {prefix}*.jar is in tests/real/pom.xml")).clone()
}

/// The same JDK with programs that use libraries, compiled by the oldest one, in front of those that it has.
pub fn with_libraries(built: &Built, oldest: &Jdk, libraries: &Libraries) -> Built {
    let jars: Vec<String> = libraries.jars.iter().map(|prefix| jar(prefix).display().to_string()).collect();
    let class_path = format!("{}:{}", jars.join(":"), built.class_path);
    let sources = program::sources_of(libraries.folder);
    let classes = compiled(&format!("classes-{}", libraries.folder), oldest, &sources, &class_path);
    // Its name has the key of its own.
    let both = key((built.key, &classes), &[]);
    Built { class_path: format!("{}:{class_path}", classes.display()), key: both, ..built.clone() }
}

/// The class path of the program in `tests/programs/kotlin`, compiled by Kotlin's compiler, with its library.
pub fn kotlin(jdk: &Jdk) -> String {
    let (compiler, library) = (jar("kotlin-compiler-embeddable-"), jar("kotlin-stdlib-"));
    let jars = compiler.parent().expect("it is in a directory").join("*").display().to_string();
    let sources = program::directory().join("kotlin");
    let key = key((), &[files(&sources, "kt"), vec![compiler]].concat());
    let classes = cached("classes-kotlin", key, |out| {
        let mut kotlinc = jdk.command("java");
        kotlinc
            .args(["-cp", &jars, "org.jetbrains.kotlin.cli.jvm.K2JVMCompiler", "-no-reflect", "-no-stdlib", "-cp"])
            .arg(&library);
        must(kotlinc.arg("-d").arg(out).arg(&sources));
    });
    format!("{}:{}", classes.display(), library.display())
}
