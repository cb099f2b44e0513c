//! Instructions as text are those of the real `javap -c -p`, line by line: of all programs here, of classes with everything that
//! a class file may contain, and of some hundred classes of the JDK.

use cprof_annotate::disassemble;
use cprof_instrument::classfile::ClassFile;
use cprof_instrument::classfile::instructions::Instructions;
use cprof_tests::jdk::Jdk;
use cprof_tests::{OrFail, build, javap, run};
use std::path::{Path, PathBuf};

/// Classes of `java.base`: strings and numbers with all their constants, method handles, concurrency, old and new code.
const SAMPLE: &str =
    "regex:/java.base/(java/lang/[A-Z][a-z]*|java/lang/invoke/.*|java/util/concurrent/[A-D].*|java/math/.*|java/text/D.*).class";

/// The class files in and below a directory.
fn class_files(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).or_fail(directory.display()).flatten() {
        let path = entry.path();
        if path.is_dir() {
            files.extend(class_files(&path));
        } else if path.extension().is_some_and(|e| e == "class") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// Ours, laid out as javap's.
fn instructions(files: &[PathBuf]) -> Vec<Vec<String>> {
    let mut methods = Vec::new();
    for file in files {
        let bytes = std::fs::read(file).or_fail(file.display());
        let class = ClassFile::parse(&bytes).or_fail(file.display());
        for method in &class.methods {
            let Some(code) = class.code(method).or_fail(file.display()) else { continue };
            let mut lines = Vec::new();
            for instruction in Instructions::new(code.bytes, code.at) {
                let instruction = instruction.or_fail(file.display());
                let text = disassemble::text(&class, &instruction).or_fail(file.display());
                lines.extend(text.lines(instruction.bci).iter().map(|line| line.trim().to_owned()));
            }
            methods.push(lines);
        }
    }
    methods
}

/// Whether javap means the same number. Up to JDK 18, Java printed some numbers with more digits than needed (JDK-4511638).
fn same_number(jdk: &Jdk, theirs: &str, ours: &str) -> bool {
    let number = |line: &str| {
        let (code, constant) = line.split_once("// ")?;
        let value = constant.strip_prefix("double ").or_else(|| constant.strip_prefix("float "))?;
        let value: f64 = value.strip_suffix(['d', 'f'])?.parse().ok()?;
        Some((code.to_owned(), if constant.starts_with("float") { f64::from(value as f32) } else { value }))
    };
    jdk.feature < 19 && number(theirs).is_some() && number(theirs) == number(ours)
}

/// Whether javap left out the operand: of jsr and ret, as that of JDK 25 does.
fn without_operand(theirs: &str, ours: &str) -> bool {
    let subroutine = theirs.rsplit(' ').next().is_some_and(|mnemonic| matches!(mnemonic, "jsr" | "jsr_w" | "ret" | "ret_w"));
    subroutine && ours.strip_prefix(theirs).is_some_and(|rest| rest.starts_with(' '))
}

/// Compares; answers how many instructions.
fn compare(jdk: &Jdk, files: &[PathBuf]) -> usize {
    assert!(!files.is_empty());
    let (theirs, ours) = (javap::instructions(jdk, files), instructions(files));
    assert_eq!(theirs.len(), ours.len(), "methods with code, on JDK {}", jdk.feature);
    let mut compared = 0;
    for (theirs, ours) in theirs.iter().zip(&ours) {
        for (theirs, ours) in theirs.iter().zip(ours) {
            // What is no character is ? in javap's output.
            let same = theirs == ours
                || *theirs == ours.replace('\u{fffd}', "?")
                || same_number(jdk, theirs, ours)
                || without_operand(theirs, ours);
            assert!(same, "on JDK {}\n  javap {theirs}\n  cprof {ours}", jdk.feature);
            compared += 1;
        }
        assert_eq!(theirs.len(), ours.len(), "lines of a method that begins {:?}", theirs.first());
    }
    compared
}

#[test]
fn instructions_of_programs_are_those_of_javap() {
    for bench in run::benches() {
        let directories = bench.built.class_path.split(':').map(PathBuf::from);
        let files: Vec<PathBuf> = directories.flat_map(|directory| class_files(&directory)).collect();
        let compared = compare(&bench.jdk, &files);
        println!("{} lines of {} classes on {}", compared, files.len(), bench.jdk.feature);
        assert!(compared > 10_000, "so few say little: {compared}");
    }
}

#[test]
fn instructions_of_the_jdk_are_those_of_javap() {
    for bench in run::benches() {
        let directory = build::fresh(&format!("javap-{}", bench.jdk.feature));
        let mut jimage = bench.jdk.command("jimage");
        jimage.args(["extract", "--include", SAMPLE, "--dir"]).arg(&directory).arg(bench.jdk.home.join("lib/modules"));
        build::must(&mut jimage);
        let files = class_files(&directory);
        let compared = compare(&bench.jdk, &files);
        println!("{} lines of {} classes on {}", compared, files.len(), bench.jdk.feature);
        assert!(compared > 50_000, "so few say little: {compared}");
        std::fs::remove_dir_all(&directory).or_fail(directory.display());
    }
}

#[test]
fn constants_of_every_kind_are_those_of_javap() {
    for bench in run::benches() {
        let directory = build::fresh(&format!("javap-constants-{}", bench.jdk.feature));
        let file = directory.join("Constants.class");
        std::fs::write(&file, constants()).or_fail(file.display());
        assert!(compare(&bench.jdk, std::slice::from_ref(&file)) > 20);
        std::fs::remove_dir_all(&directory).or_fail(directory.display());
    }
}

/// A class whose method loads a constant of each kind, method handles of each kind among them, jumps far, and is wide.
fn constants() -> Vec<u8> {
    let mut pool: Vec<Vec<u8>> = Vec::new();
    let mut add = |entry: Vec<u8>| {
        pool.push(entry);
        pool.len() as u16
    };
    let utf8 = |text: &str| [&[1, 0, text.len() as u8], text.as_bytes()].concat();
    let one = |tag: u8, at: u16| [&[tag], &at.to_be_bytes()[..]].concat();
    let two = |tag: u8, a: u16, b: u16| [&[tag], &a.to_be_bytes()[..], &b.to_be_bytes()].concat();
    let (this, object, code, run, void) =
        (add(utf8("Constants")), add(utf8("java/lang/Object")), add(utf8("Code")), add(utf8("a-b")), add(utf8("()V")));
    let (this, object) = (add(one(7, this)), add(one(7, object)));
    let (other, text) = (add(utf8("p/Other")), add(utf8("it's \"so\"\t\u{e9}")));
    let other = add(one(7, other));
    let method_type = add(one(16, void));
    let string = add(one(8, text));
    let named = add(two(12, run, void));
    let (field_name, int) = (add(utf8("f")), add(utf8("I")));
    let field = add(two(12, field_name, int));
    let members = [add(two(9, this, field)), add(two(10, other, named)), add(two(11, other, named)), add(two(10, this, named))];
    let handles: Vec<u16> = [(1, 0), (2, 0), (3, 0), (4, 0), (5, 1), (6, 1), (7, 3), (8, 1), (9, 2)]
        .map(|(kind, member)| add([&[15, kind], &members[member].to_be_bytes()[..]].concat()))
        .to_vec();
    let (dynamic, linked) = (add(two(17, 0, field)), add(two(18, 0, named)));
    let (integer, float) = (add(vec![3, 0xff, 0xff, 0xff, 0xfe]), add([&[4], &1.5e-7f32.to_be_bytes()[..]].concat()));
    let mut instructions: Vec<u8> = Vec::new();
    for at in handles.iter().chain(&[method_type, string, dynamic, integer, float, this, other]) {
        instructions.extend([18, *at as u8, 87]);
        instructions.extend([&[19], &at.to_be_bytes()[..], &[87]].concat());
    }
    instructions.extend([&[186], &linked.to_be_bytes()[..], &[0, 0]].concat());
    for (opcode, member) in [(180, 0), (181, 0), (182, 1), (183, 3), (184, 2)] {
        instructions.extend([&[opcode], &members[member].to_be_bytes()[..]].concat());
    }
    // wide iload 300, wide iinc 300 -2, wide ret 300, goto_w and jsr_w backward, jsr, ret 1.
    instructions.extend([196, 21, 1, 44, 196, 132, 1, 44, 0xff, 0xfe, 196, 169, 1, 44]);
    instructions.extend([200, 0xff, 0xff, 0xff, 0xf0, 201, 0xff, 0xff, 0xff, 0xf0, 168, 0, 3, 169, 1, 177]);
    let length = instructions.len() as u32;
    let mut class = vec![0xCA, 0xFE, 0xBA, 0xBE, 0, 0, 0, 61];
    class.extend((pool.len() as u16 + 1).to_be_bytes());
    class.extend(pool.concat());
    for number in [0x21, this, object, 0, 0, 1, 9, run, void, 1, code] {
        class.extend(number.to_be_bytes());
    }
    class.extend((12 + length).to_be_bytes());
    class.extend([0, 8, 2, 0]);
    class.extend(length.to_be_bytes());
    class.extend(instructions);
    class.extend([0, 0, 0, 0, 0, 0]);
    class
}
