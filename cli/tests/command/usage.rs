//! Wrong options end with 2, whether the parser of the command line sees them or a command does, and before any file is read.
//! What is wrong with files ends with 1.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Exit code and standard error of a command that must print nothing else.
fn fails(folder: &Path, line: &str) -> (i32, String) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let output = Command::new(env!("CARGO_BIN_EXE_cprof")).args(words).current_dir(folder).output().unwrap();
    assert!(output.stdout.is_empty(), "{line}");
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn wrong_options_end_with_2() {
    let folder = tempfile::tempdir().unwrap();
    cprof_profile::file::write(&folder.path().join("a.cprof"), &cprof_synthetic::demo().profile(&[])).unwrap();
    fs::write(folder.path().join("budget.toml"), "[[budget]]\nmethod = \"*.*\"\nlimits = [\"calls > 0\"]").unwrap();
    for name in ["one", "two"] {
        fs::create_dir(folder.path().join(name)).unwrap();
        let text = format!("base = \"bytecodes\"\ntitle = \"{name}\"\naccuracy = \"coarse\"\n");
        fs::write(folder.path().join(name).join("mine.toml"), text).unwrap();
    }
    for (line, says) in [
        // What the parser sees.
        ("export missing.cprof --format elf -o x", "elf"),
        ("report missing.cprof --tree --threads", "--threads"),
        ("report missing.cprof --cache 4k", "4k"),
        ("report missing.cprof --coverage --sort name", "'--coverage' cannot be used with '--sort <KEY>'"),
        // What a command sees.
        ("report missing.cprof --tree --top 5", "of a tree choose with --min-share, --max-depth or --filter"),
        ("export missing.cprof --format pprof --methods -o x", "--methods is for the formats csv and json"),
        ("export missing.cprof --format parquet --methods -o x", "--methods is for the formats csv and json"),
        ("export missing.cprof --format callgrind --lines -o x", "--lines is for pprof"),
        ("export missing.cprof --format parquet --lines -o x", "--lines is for pprof"),
        ("export missing.cprof --format parquet --metric calls -o x", "--metric is for the other formats"),
        ("export missing.cprof --format parquet -o -", "name a directory with -o"),
        ("export a.cprof --format csv -o a.cprof", "a.cprof is read, and would be written over"),
        ("export a.cprof --format parquet -o a.cprof", "a.cprof is read, and would be written over"),
        ("flamegraph missing.cprof --diff a.cprof -o a.cprof", "a.cprof is read, and would be written over"),
        ("html a.cprof -o ./a.cprof", "a.cprof is read, and would be written over"),
        ("explore missing.cprof --plot -", "name a file for the plot"),
        ("explore a.cprof --plot a.cprof", "a.cprof is read, and would be written over"),
        ("explore missing.cprof --matrix budget.toml --plot budget.toml", "budget.toml is read, and would be written over"),
        ("check a.cprof --budget budget.toml -o a.cprof", "a.cprof is read, and would be written over"),
        ("merge missing.cprof ./a.cprof -o a.cprof", "./a.cprof is one of the profiles to merge and the one to write"),
        ("targets check jop", "jop comes with cprof"),
        ("targets show jop --set rws=3 --set rws=5", "--set gives rws a value more than once"),
        ("report a.cprof --target jop --cache ideal --set rws=3 --set rws=3", "--set gives rws a value more than once"),
        (
            "overlap a.cprof a.cprof --target jop --target one/mine.toml --target two/mine.toml",
            "one/mine.toml and two/mine.toml are different models, and both are called mine",
        ),
        ("report a.cprof --target jup", "there is no target \"jup\"; cprof has aj-100"),
        ("export a.cprof --format pprof -o x --target jup", "there is no target \"jup\"; cprof has aj-100"),
        ("report a.cprof --target jop --set rsw=3", "target jop has no parameter rsw; it has"),
        ("targets show jop --set rsw=3", "target jop has no parameter rsw; it has"),
        ("report a.cprof --top -1", "invalid value '-1' for '--top <N>': it takes a number, 0 for all"),
        ("diff a.cprof a.cprof --top x", "invalid value 'x' for '--top <N>': it takes a number, 0 for all"),
        ("histogram a.cprof --top -1", "invalid value '-1' for '--top <N>': it takes a number, 0 for all"),
        ("run --depth -1 java", "invalid value '-1' for '--depth <N>'"),
        ("run --max-nodes -1 java", "invalid value '-1' for '--max-nodes <N>'"),
        ("report a.cprof --tree --max-depth -1", "invalid value '-1' for '--max-depth <N>'"),
        ("attach 1 --quiet", "unexpected argument '--quiet' found\n\nUsage: cprof attach"),
        ("export a.cprof --format json -o x --cache 4k/16", "belong to a processor; name one with --target"),
        ("report a.cprof --set rws=3", "belong to a processor; name one with --target"),
        ("check a.cprof --budget budget.toml --set rws=3", "budget.toml limits no cycles"),
        ("run -- mvn test", "mvn is not a java command"),
        ("run --sites mvn test --sites", "mvn is not a java command"),
        ("run --root a.b,c.d -- ./java", "--root cannot contain a comma"),
        ("attach 1 --include a.*,b.*", "--include cannot contain a comma"),
        // What the agent would not take.
        ("run --cache 4x -- ./java", "cprof: --cache 4x: "),
        ("run --root main -- ./java", "--root main is not valid; --root takes a class and a method, as --root com.acme.Main.run"),
        ("run --target jup -- ./java", "jup"),
        ("run --target one/mine.toml -o ./one/mine.toml -- ./java", "--out ./one/mine.toml is read for --target one/mine.toml"),
        ("attach 1 --max-memory 1q", "512m"),
        ("attach 1 --cache 4k/16+4k/16", "given twice"),
        ("attach 1 --cache ideal+4k/16+ideal", "ideal is given twice"),
        ("attach 1 --cache-scope shared", "--cache-scope"),
        ("report a.cprof --target jop --set =3", "no name before the ="),
        ("recover a.cprof", "a.cprof is neither a process id nor a recording's directory"),
        ("clean a.cprof", "a.cprof is neither a process id nor a recording's directory"),
    ] {
        let (code, message) = fails(folder.path(), line);
        assert!(code == 2 && message.contains(says), "{line}: {code}, {message}");
    }
    for (line, code) in [
        ("export missing.cprof --format csv -o x", 1),
        ("export a.cprof --format csv -o nowhere/x", 1),
        ("flamegraph a.cprof --root no.Such.method -o x", 1),
        ("merge a.cprof budget.toml -o x", 1),
        ("explore a.cprof --matrix missing.toml --plot x", 1),
        ("targets check missing.toml", 1),
        ("recover 4194305", 1),
        ("check missing.cprof --budget budget.toml", 3),
    ] {
        let (found, message) = fails(folder.path(), line);
        assert_eq!(found, code, "{line}: {message}");
    }
    let profile = cprof_profile::file::read(&folder.path().join("a.cprof"));
    assert!(profile.is_ok_and(|profile| profile == cprof_synthetic::demo().profile(&[])));
}
