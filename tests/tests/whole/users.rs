//! Other users' JVMs, and what other users put where cprof looks.

use cprof_tests::attach;
use cprof_tests::live::{Workers, cprof, recording};
use cprof_tests::run::Ending;
use cprof_tests::{OrFail, build, is_without, live, run, text, until};
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

/// The user "nobody", of whom every Linux has one.
const NOBODY: u32 = 65534;

/// What to run is still to come.
fn nobody() -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    command
}

fn as_nobody(program: &Path, arguments: &[&str]) -> Command {
    let mut command = nobody();
    command.arg(program).args(arguments);
    command
}

fn cprof_as_nobody(arguments: &[&str]) -> Ending {
    let mut command = as_nobody(&build::cprof(), arguments);
    command.env("CPROF_AGENT", build::agent()).current_dir("/tmp");
    command.output().or_fail(format_args!("starting {command:?}")).into()
}

#[test]
fn root_attaches_to_other_users_jvms_and_nobody_to_roots() {
    if is_without("root") {
        return;
    }
    for bench in run::benches() {
        let out = build::fresh(&format!("users-{}", bench.jdk.feature)).join("it.cprof");
        let theirs = Workers::start_as(&bench, Some(NOBODY), None, &[], &[]).started();
        let pid = theirs.pid().to_string();
        let attached = cprof(&["attach", &pid, "--for", "2s", "-o", text(&out)]);
        assert_eq!(attached.code, 0, "JDK {}: {}", bench.jdk.feature, attached.stderr);
        assert!(live::calls(&out, "Workers", "tick") > 0);
        assert_eq!(theirs.kill().0.stdout, "");

        let ours = Workers::start(&bench, Some("quiet"), &[], &[]).started();
        let (pid, directory) = (ours.pid().to_string(), recording(ours.pid()).expect("it records"));
        for command in ["attach", "detach", "snapshot", "top"] {
            let refused = cprof_as_nobody(&[command, &pid]);
            assert_eq!(refused.code, 1, "{command}: {refused:?}");
            assert!(refused.stderr.contains("belongs to root; run cprof as root"), "{command}: {}", refused.stderr);
        }
        assert!(!cprof_as_nobody(&["list", "--format", "csv"]).stdout.contains(&format!("{pid},")));
        ours.kill();
        for (what, why) in [
            (pid.as_str(), "belongs to root; recordings are read by their user, or by root"),
            (text(&directory), "Permission denied"),
        ] {
            let refused = [cprof_as_nobody(&["recover", what, "-o", "/tmp/none.cprof"]), cprof_as_nobody(&["clean", what])];
            let is_named = |ending: &Ending| ending.code == 1 && ending.stderr.contains(why);
            assert!(refused.iter().all(is_named) && directory.join("arena").exists(), "{refused:?}");
        }
        let stale = cprof_as_nobody(&["list", "--stale"]);
        assert!(stale.code == 0 && stale.stdout.contains("of living JVMs or dead ones; root sees them"), "{stale:?}");
        assert_eq!(cprof(&["clean", text(&directory)]).code, 0);
    }
}

#[test]
fn a_protected_file_stays_and_the_profile_goes_elsewhere() {
    if is_without("root") {
        return;
    }
    for bench in run::benches() {
        let directory = Trick(PathBuf::from(format!("/tmp/cprof-users-protected-{}", bench.jdk.feature)));
        fs::create_dir_all(&directory.0).or_fail(directory.0.display());
        let (kept, elsewhere) = (directory.0.join("in/it.cprof"), directory.0.join("it.cprof"));
        fs::create_dir_all(directory.0.join("in")).or_fail(kept.display());
        fs::write(&kept, "kept").or_fail(kept.display());
        fs::set_permissions(&kept, Permissions::from_mode(0o444)).or_fail(kept.display());
        for owned in [directory.0.clone(), directory.0.join("in"), kept.clone()] {
            chown(&owned, Some(NOBODY), Some(NOBODY)).or_fail(owned.display());
        }
        let java = bench.jdk.command("java");
        let mut program = nobody();
        program.arg(java.get_program()).arg(build::agent_option("", &kept));
        program.args(["-cp", &bench.built.class_path, "Recursion"]).current_dir(&directory.0);
        let ending = run::end(program);
        assert_eq!(ending.code, 0, "{ending:?}");
        let said = "Permission denied (os error 13)";
        assert!(ending.stderr.contains(said) && ending.stderr.contains("it was written to it.cprof instead"), "{ending:?}");
        assert!(fs::read_to_string(&kept).is_ok_and(|text| text == "kept") && elsewhere.exists());
    }
}

/// A JVM of nobody's that runs, and the rest of its output; behind `setpriv` or what else is to run it.
fn spinning(how: &[&str]) -> (Child, BufReader<ChildStdout>) {
    let bench = run::benches().pop().expect("a JDK");
    let java = bench.jdk.command("java");
    let mut program = nobody();
    program.args(how).arg(java.get_program()).args(["-cp", &bench.built.class_path, "Spins"]).current_dir("/tmp");
    let mut program = program.stdout(Stdio::piped()).spawn().or_fail(format_args!("starting {program:?}"));
    let mut output = BufReader::new(program.stdout.take().expect("it is piped"));
    output.read_line(&mut String::new()).or_fail("its first line");
    (program, output)
}

/// It would print all its stacks, as for anybody whom it does not know.
#[test]
fn root_is_told_that_he_is_nobody_where_a_jvm_runs() {
    if is_without("root") || is_without("namespaces") {
        return;
    }
    let (mut program, mut output) = spinning(&["unshare", "--user", "--map-root-user"]);
    let pid = program.id().to_string();
    let out = build::fresh("users-nobody").join("it.cprof");
    let refused = cprof(&["attach", &pid, "-o", text(&out)]);
    program.kill().expect("it is a child");
    program.wait().expect("it is a child");
    assert!(refused.code == 1 && refused.stderr.contains("runs where this command's user is nobody"), "{refused:?}");
    let mut said = String::new();
    output.read_to_string(&mut said).or_fail("the rest of its output");
    assert!(!said.contains("Full thread dump") && !attach::trigger(program.id()).exists(), "{said}");
}

/// HotSpot would end it, as it cannot listen.
#[test]
fn a_jvm_that_can_start_no_thread_is_let_alone() {
    if is_without("root") {
        return;
    }
    let (mut program, _) = spinning(&[]);
    let pid = program.id().to_string();
    let limited = nobody().args(["prlimit", "--pid", &pid, "--nproc=1:"]).status().or_fail("setting its limit");
    assert!(limited.success());
    let out = build::fresh("users-threads").join("it.cprof");
    let refused = cprof(&["attach", &pid, "--for", "200ms", "-o", text(&out)]);
    let runs = program.try_wait().expect("it is a child").is_none();
    program.kill().expect("it is a child");
    program.wait().expect("it is a child");
    let says = "cannot start the thread that would answer, and HotSpot would end it for that: nobody has ";
    assert!(refused.code == 1 && refused.stderr.contains(says), "{refused:?}");
    assert!(runs && refused.stderr.contains(&format!("prlimit --pid {pid} --nproc=")), "{refused:?}");
}

/// The kernel lets nobody but root look into a process that may do more than oneself.
#[test]
fn a_jvm_with_capabilities_is_not_taken_for_another_users_or_for_none() {
    if is_without("root") || is_without("capabilities") {
        return;
    }
    let (mut program, _) = spinning(&["--inh-caps=+net_bind_service", "--ambient-caps=+net_bind_service"]);
    let pid = program.id().to_string();
    let refused = ["attach", "snapshot", "top"].map(|command| cprof_as_nobody(&[command, &pid]));
    let out = build::fresh("users-capabilities").join("it.cprof");
    let attached = cprof(&["attach", &pid, "--for", "200ms", "-o", text(&out)]);
    program.kill().expect("it is a child");
    program.wait().expect("it is a child");
    for ending in refused {
        assert!(ending.code == 1 && ending.stderr.contains("has rights that this command has not"), "{ending:?}");
    }
    assert_eq!(attached.code, 0, "root may: {attached:?}");
}

/// Removes a file or directory of a trick when the test ends, however it does.
struct Trick(PathBuf);

impl Drop for Trick {
    fn drop(&mut self) {
        // One of them, or cprof has.
        let _ = fs::remove_file(&self.0);
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn what_others_put_in_shared_directories_is_neither_followed_nor_believed() {
    if is_without("root") {
        return;
    }
    let bench = run::benches().pop().expect("a JDK");
    let directory = build::fresh("tricks");
    let workers = Workers::start(&bench, None, &[], &[]).started();
    let pid = workers.pid();
    let attach = || cprof(&["attach", &pid.to_string(), "--for", "200ms", "-o", text(&directory.join("it.cprof"))]);
    let socket = Trick(attach::socket(pid));

    // Somebody else's socket, and a link to one.
    let listener = UnixListener::bind(&socket.0).or_fail(socket.0.display());
    chown(&socket.0, Some(NOBODY), Some(NOBODY)).or_fail("chown");
    fs::set_permissions(&socket.0, Permissions::from_mode(0o600)).or_fail("chmod");
    let refused = attach();
    assert!(refused.code == 1 && refused.stderr.contains("is not the JVM's socket: it belongs to nobody"), "{}", refused.stderr);
    let elsewhere = directory.join("socket");
    fs::rename(&socket.0, &elsewhere).or_fail("moving the socket");
    symlink(&elsewhere, &socket.0).or_fail("making a link");
    let refused = attach();
    assert!(refused.code == 1 && refused.stderr.contains("is not the JVM's socket: it is no socket"), "{}", refused.stderr);
    drop((listener, socket));

    // Somebody else's file in the place of the one that wakes the JVM, where the JVM looks first: woken, it would print its stacks.
    let trigger = attach::trigger(pid);
    let in_cwd = std::env::current_dir().expect("this process has one").join(trigger.file_name().expect("a name"));
    let in_cwd = Trick(in_cwd);
    fs::write(&in_cwd.0, "").or_fail(in_cwd.0.display());
    chown(&in_cwd.0, Some(NOBODY), Some(NOBODY)).or_fail("chown");
    let refused = attach();
    let says = format!("{} belongs to nobody", in_cwd.0.display());
    assert!(refused.code == 1 && refused.stderr.contains(&says), "{}", refused.stderr);
    drop(in_cwd);

    // A link in its other place: what it leads to is not made, and the JVM is told in the first.
    let victim = directory.join("victim");
    let trigger = Trick(trigger);
    symlink(&victim, &trigger.0).or_fail("making a link");
    let attached = attach();
    assert_eq!(attached.code, 0, "{}", attached.stderr);
    assert!(!victim.exists());
    drop(trigger);

    // A directory of somebody else's with the name of a recording of this very process.
    let recording = Trick(PathBuf::from(format!("/dev/shm/cprof-0-{pid}-1")));
    fs::create_dir(&recording.0).or_fail(recording.0.display());
    for file in ["arena", "classes"] {
        symlink(&victim, recording.0.join(file)).or_fail("making a link");
    }
    fs::set_permissions(&recording.0, Permissions::from_mode(0o700)).or_fail("chmod");
    chown(&recording.0, Some(NOBODY), Some(NOBODY)).or_fail("chown");
    let snapshot = cprof(&["snapshot", &pid.to_string(), "-o", text(&directory.join("now.cprof"))]);
    assert!(snapshot.code == 1 && !directory.join("now.cprof").exists(), "{}", snapshot.stderr);
    let cleaned = cprof(&["clean", text(&recording.0)]);
    assert!(cleaned.code == 1 && recording.0.join("arena").is_symlink(), "{}", cleaned.stderr);
    let attached = attach();
    assert_eq!(attached.code, 0, "{}", attached.stderr);
    assert!(!victim.exists());
    drop(recording);
    workers.kill();
}

/// A process that looks like a JVM, of user nobody, who made all that it sees: in a root of its own, whose `/tmp` leads elsewhere
/// when root follows it from outside, and with a pipe in the place of its JDK's `release`.
#[test]
fn root_follows_no_link_out_of_a_process_s_own_root() {
    if is_without("root") {
        return;
    }
    let root = build::fresh("own-root");
    let victim = build::fresh("own-root-victim");
    for directory in ["bin", "lib", "lib64", "jdk/lib/server"] {
        fs::create_dir_all(root.join(directory)).or_fail(directory);
    }
    let maps = fs::read_to_string("/proc/self/maps").expect("this process has memory");
    let libc = maps.lines().filter_map(|line| line.find('/').map(|at| Path::new(&line[at..]))).find(|f| f.ends_with("libc.so.6"));
    let libc = libc.expect("tests are linked to it");
    let loader = "lib64/ld-linux-x86-64.so.2";
    for (from, to) in [
        (Path::new("/").join(loader), loader),
        (libc.to_owned(), "lib/libc.so.6"),
        (libc.with_file_name("libm.so.6"), "jdk/lib/server/libjvm.so"),
        (PathBuf::from("/bin/sleep"), "bin/sleep"),
    ] {
        fs::copy(&from, root.join(to)).or_fail(from.display());
    }
    symlink(&victim, root.join("tmp")).or_fail("making a link");
    build::must(Command::new("mkfifo").arg(root.join("jdk/release")));
    let mut process = Command::new("chroot");
    process.arg("--userspec=65534:65534").arg(&root).arg(Path::new("/").join(loader));
    process.args(["--library-path", "/lib", "--preload", "/jdk/lib/server/libjvm.so", "/bin/sleep", "600"]);
    let mut process = process.spawn().or_fail(format_args!("starting {process:?}"));
    let pid = process.id();
    let mapped = || fs::read_to_string(format!("/proc/{pid}/maps")).is_ok_and(|maps| maps.contains("libjvm.so"));
    until("the process to have its library", || {
        assert_eq!(process.try_wait().expect("it is a child"), None, "it has ended");
        mapped()
    });
    let listed = cprof(&["list", "--format", "csv"]);
    let attached = cprof(&["attach", &pid.to_string(), "-o", text(&victim.join("it.cprof"))]);
    process.kill().expect("it is a child");
    process.wait().expect("it is a child");
    assert!(listed.stdout.contains(&format!("{pid},")), "{listed:?}");
    assert!(attached.code == 1 && attached.stderr.contains("it is a link, which is not followed"), "{}", attached.stderr);
    assert_eq!(fs::read_dir(&victim).or_fail(victim.display()).count(), 0, "nothing was made there");
}
