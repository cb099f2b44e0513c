//! What is wrong with a model is said with its place, and nothing a file says can make cprof panic.

use cprof_profile::options::Options;
use cprof_profile::target::Library;
use proptest::prelude::*;
use std::fs;
use std::path::PathBuf;

/// A directory with model files, removed at the end.
struct Files(PathBuf);

impl Files {
    fn new(test: &str) -> Files {
        let path = std::env::temp_dir().join(format!("cprof-targets-{test}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Files(path)
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// The error of a model, without the directory.
    fn error(&self, text: &str) -> String {
        let path = self.write("m.toml", text);
        let error = Library.load(&path).err().unwrap_or_else(|| panic!("it was accepted:\n{text}"));
        error.to_string().replace(&format!("{}/", self.0.display()), "")
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

const HEAD: &str = "title = \"t\"\naccuracy = \"exact\"\n[sources]\ns = \"somewhere\"\n";
const COSTS: &str =
    "[bytecodes]\nsource = \"s\"\n\"*\" = 1\n[invoke]\nsource = \"s\"\n\"*\" = 1\n[return]\nsource = \"s\"\n\"*\" = 1\n";

#[test]
fn more_parameters_than_a_processor_has_are_a_mistake() {
    let files = Files::new("many");
    let many: String = (0..1001).map(|i| format!("p{i} = {{ value = 1, source = \"s\" }}\n")).collect();
    let error = files.error(&format!("{HEAD}{COSTS}[parameters]\n{many}"));
    assert!(error.starts_with("m.toml:1") && error.ends_with("there are more than 1000 parameters"), "{error}");
}

#[test]
fn mistakes_have_a_place() {
    let files = Files::new("mistakes");
    let whole = format!("{HEAD}{COSTS}");
    assert!(Library.load(&files.write("good.toml", &whole)).is_ok());
    let with = |from: &str, to: &str| {
        assert!(whole.contains(from), "{from}");
        files.error(&whole.replacen(from, to, 1))
    };
    for (from, to, expected) in [
        ("title", "titel", "m.toml:1:1: a target model has no key \"titel\"; it has base, title"),
        ("title = \"t\"\n", "", "m.toml:1:1: the model has no title"),
        ("\"exact\"", "\"good\"", "m.toml:2:12: accuracy is exact or hypothetical or coarse, not \"good\""),
        ("\"t\"", "\"t", "m.toml:1:"),
        ("\"*\" = 1", "\"*\" = +1", "m.toml:7:7: * is a number with a plus sign: in quotes, it is added to what the base says"),
        (
            "[bytecodes]\nsource = \"s\"",
            "[bytecodes]\nsource = \"x\"",
            "m.toml:6:10: [sources] of this file has no \"x\"; it has s",
        ),
        ("[bytecodes]\nsource = \"s\"\n", "[bytecodes]\n", "m.toml:6:7: * has no source"),
        ("\"*\" = 1", "nop = 1", "m.toml:1:1: [bytecodes] gives no cost for aconst_null, iconst_m1"),
        ("\"*\" = 1", "\"*\" = 1\nnopp = 1", "m.toml:8:1: there is no bytecode nopp"),
        ("\"*\" = 1", "\"*\" = 1\n\"iadd,\" = 1", "m.toml:8:1: a name is missing in \"iadd,\""),
        ("\"*\" = 1", "\"*\" = 1\n\"iadd..isub..imul\" = 1", "m.toml:8:1: iadd..isub..imul has more than two ends"),
        ("\"*\" = 1", "\"*\" = 1\nireturn = 1", "m.toml:8:1: ireturn has its cost in [invoke] or [return]"),
        ("\"*\" = 1", "\"*\" = 1\n\"nop..iconst_0\" = 1\niconst_m1 = 2", "iconst_m1 has two costs in this file"),
        ("\"*\" = 1", "\"*\" = \"1 + \"", "m.toml:7:12: in the formula of *: a number or a name is missing at the end"),
        (
            "\"*\" = 1",
            "\"*\" = \"1 + r\"",
            "m.toml:7:12: the formula uses r, which is not among the names it may use: none at all",
        ),
        ("\"*\" = 1", "\"*\" = \"n\"", "m.toml:7:8: the formula uses n,"),
        ("\"*\" = 1", "\"*\" = \"7 / (3 - 3)\"", "m.toml:7:10: the cost of nop: division by zero"),
        ("\"*\" = 1", "\"*\" = \"9223372036854775807 * 2\"", "the value does not fit 64 bits"),
        ("\"*\" = 1", "\"*\" = -3", "it is -3, and no cost can be below 0"),
        ("\"*\" = 1", "\"*\" = \"+1\"", "nop has no cost in a base that \"+1\" could change"),
        ("\"*\" = 1", "\"*\" = 1.5", "* must be a number or a formula in quotes, not float"),
        ("[invoke]\nsource = \"s\"\n\"*\" = 1", "[invoke]\nsource = \"s\"\n\"*\" = \"l\"", "l needs a [load] table"),
        (
            "[invoke]\nsource = \"s\"\n\"*\" = 1",
            "[invoke]\nsource = \"s\"\n\"*\" = \"10 - n\"",
            "the cost of virtual with n = 16384: it is -16374",
        ),
        ("[invoke]", "[load]\nsource = \"s\"\nhit = 1\n[invoke]", "[load] needs both hit and miss"),
        ("[invoke]", "[cache]\ndefault = \"4k\"\nsource = \"s\"\n[invoke]", "m.toml:9:11: \"4k\" is no cache"),
        ("[invoke]", "[cache]\ndefault = \"4k/16\"\n[invoke]", "m.toml:8:1: [cache] has no source: say where"),
        (
            "[invoke]",
            "[parameters]\nk = 4\n[invoke]",
            "m.toml:9:5: k has no source: say where it comes from, as k = { value = 4,",
        ),
        ("[invoke]", "[parameters]\nk = { value = 4 }\n[invoke]", "m.toml:9:5: k has no source"),
        ("[invoke]", "[parameters]\nn = 1\n[invoke]", "m.toml:9:1: \"n\" cannot be a parameter's name"),
        (
            "[invoke]",
            "[parameters]\nclock_mhz = { value = 0, source = \"s\" }\n[invoke]",
            "m.toml:9:1: clock_mhz is 0, and must be at least 1",
        ),
        (
            "[invoke]",
            "[parameters]\nk = { value = -1, min = 0, source = \"s\" }\n[invoke]",
            "m.toml:9:1: k is -1, and must be at least 0",
        ),
        (
            "[invoke]",
            "[parameters]\nk = { value = 1, min = \"0\", source = \"s\" }\n[invoke]",
            "m.toml:9:24: min must be a whole",
        ),
        ("[invoke]", "[software]\nsource = \"s\"\ncost = 9\n[invoke]", "[software] needs cost and bytecodes"),
        ("title", "word_bytes = 0\ntitle", "word_bytes must be between 1 and 64"),
        (
            "title",
            "base = \"nobody\"\ntitle",
            "m.toml:1:8: there is no target \"nobody\"; cprof has aj-100, allocations, bytecodes",
        ),
        ("title", "base = \"gone.toml\"\ntitle", "m.toml:1:8: cannot read the target model"),
    ] {
        let error = with(from, to);
        assert!(error.contains(expected), "{to}: {error}");
    }
}

#[test]
fn mistakes_in_formulas_of_several_lines_have_their_own_line() {
    let files = Files::new("lines");
    let with =
        |formula: &str| files.error(&format!("{HEAD}{COSTS}").replacen("\"*\" = 1", &format!("nop = {formula}\n\"*\" = 1"), 1));
    for (formula, expected) in [
        ("\"\"\"\n  1 +\n  r\"\"\"", "m.toml:9:3: the formula uses r,"),
        ("'''\n1 +\n\t7 / (3 - 3)'''", "m.toml:9:4: the cost of nop: division by zero"),
        ("'''1 +\r\n r'''", "m.toml:8:2: the formula uses r,"),
        ("\"\"\"1 + \\\n    2 + r\"\"\"", "m.toml:8:9: the formula uses r,"),
        ("\"\"\"\n1 +\n2 + \n\"\"\"", "m.toml:10:1: in the formula of nop: a number or a name is missing at the end"),
        ("\"\\u0031 + \\x20\\tr\"", "m.toml:7:23: the formula uses r,"),
        ("\"1 + \\U0000e9\"", "m.toml:7:"),
        ("\"1 + \\u00e9\"", "m.toml:7:12: in the formula of nop: 'é' is not expected here"),
        ("'é + 1'", "m.toml:7:8: in the formula of nop: 'é' is not expected here"),
        ("'1 + é'", "m.toml:7:12: in the formula of nop: 'é' is not expected here"),
        ("\"\"", "m.toml:7:8: in the formula of nop: a number or a name is missing"),
        ("\"\"\"\"\"\"", "m.toml:7:10: in the formula of nop: a number or a name is missing"),
    ] {
        let error = with(formula);
        assert!(error.starts_with(expected), "{formula}: {error}");
    }
}

#[test]
fn caches_that_no_run_could_simulate_are_refused() {
    let files = Files::new("blocks");
    let with = |cache: &str| format!("{HEAD}{COSTS}[cache]\ndefault = \"{cache}\"\nsource = \"s\"\n");
    assert!(Library.load(&files.write("good.toml", &with("1m/1048576"))).is_ok());
    let error = files.error(&with("2m/2097152"));
    assert_eq!(error, "m.toml:15:11: \"2m/2097152\" has more blocks than can be simulated, which is 1048576");
}

#[test]
fn files_that_are_no_text_are_named_with_the_place() {
    let files = Files::new("bytes");
    let path = files.0.join("m.toml");
    fs::write(&path, b"# \xc3\xa9\ntitle = \"\xc3\xa9 \xe9\"\n").unwrap();
    let says =
        format!("{}:2:12: the byte 0xe9 is not UTF-8, in which the file must be; save it in that encoding", path.display());
    assert_eq!(Library.load(path.to_str().unwrap()).unwrap_err().to_string(), says);
    let base = files.write("derived.toml", "base = \"m.toml\"\ntitle = \"t\"\naccuracy = \"coarse\"\n");
    assert!(Library.load(&base).unwrap_err().to_string().ends_with(says.rsplit('/').next().unwrap()));
}

#[test]
fn calls_are_tried_with_methods_of_every_size() {
    let files = Files::new("sizes");
    let load = "[load]\nsource = \"s\"\nhit = 0\nmiss = \"(n - 10) * (n - 10) - 5\"\n";
    let costs = COSTS.replace("[return]\nsource = \"s\"\n\"*\" = 1", "[return]\nsource = \"s\"\n\"*\" = \"l\"");
    let file = files.write("m.toml", &format!("{HEAD}{costs}{load}"));
    let model = Library.load(&file).unwrap();
    let error = model.try_all_sizes().unwrap_err().to_string();
    assert!(error.contains("with n = 8: it is -1, and no cost can be below 0"), "{error}");
    // Before anything is recorded for it.
    assert!(Options::parse(&format!("target={file}")).unwrap_err().to_string().contains(&error));
    Library.load("jop").unwrap().try_all_sizes().unwrap();
}

#[test]
fn bases_by_path_and_in_circles() {
    let files = Files::new("bases");
    let base = files.write("base.toml", &format!("{HEAD}{COSTS}"));
    let mine = files.write("mine.toml", "base = \"base.toml\"\ntitle = \"t\"\naccuracy = \"coarse\"\n[sources]\nm = \"mine\"\n[bytecodes]\nsource = \"m\"\nnop = \"+4\"\n");
    let model = Library.load(&mine).unwrap();
    assert_eq!((model.opcode(0).cycles, model.opcode(1).cycles), (5, 1));
    fs::write(&base, "base = \"mine.toml\"\n").unwrap();
    let error = Library.load(&mine).unwrap_err().to_string();
    assert!(error.contains("go round in a circle") && error.contains(":1:8: "), "{error}");
    fs::write(&base, "base = \"base.toml\"\n").unwrap();
    let named = format!("circle: {base} → {}", fs::canonicalize(&base).unwrap().display());
    let error = Library.load(&base).unwrap_err().to_string();
    assert!(error.ends_with(&named), "{error}");
    // Many, and none twice.
    let overlay = |base: &str| format!("base = \"{base}\"\ntitle = \"t\"\naccuracy = \"coarse\"\n");
    let chain = |length: u32| {
        for n in 2..=length {
            let base = if n < length { format!("c{}.toml", n + 1) } else { "jop".to_owned() };
            files.write(&format!("c{n}.toml"), &overlay(&base));
        }
        files.write("c1.toml", &overlay("c2.toml"))
    };
    assert!(Library.load(&chain(32)).is_ok());
    let error = Library.load(&chain(33)).unwrap_err().to_string();
    assert!(error.contains("more than 32 bases on top of each other"), "{error}");
}

#[test]
fn names_and_parameters_that_are_not_there() {
    let unknown = Library.load("jopp").unwrap_err().to_string();
    assert!(unknown.contains("jop-2014") && unknown.contains(".toml"), "{unknown}");
    let mut model = Library.load("jop").unwrap();
    let unknown = model.set([("rw", 3)]).unwrap_err().to_string();
    assert!(unknown.contains("rws (1)") && unknown.contains("clock_mhz (100)"), "{unknown}");
    let refused = model.set([("wws", i64::MAX)]).unwrap_err().to_string();
    assert!(refused.contains("64 bits") && refused.contains("cprof's jop.toml:"), "{refused}");
}

#[test]
fn tables_may_stand_in_any_order() {
    let files = Files::new("order");
    let software = "[software]\nsource = \"s\"\ncost = 200\nbytecodes = [\"new\", \"idiv\"]\n";
    for text in [format!("{HEAD}{COSTS}{software}"), format!("{HEAD}{software}{COSTS}")] {
        let model = Library.load(&files.write("m.toml", &text)).unwrap();
        // new, idiv, and what has no key.
        let costs = [187, 108, 0].map(|opcode| (model.opcode(opcode).cycles, model.opcode(opcode).estimated));
        assert_eq!(costs, [(200, true), (200, true), (1, false)], "{text}");
        let twice = text.replacen("\"*\" = 1", "\"*\" = 1\nidiv = 3", 1);
        assert!(files.error(&twice).contains("idiv has two costs in this file"), "{twice}");
    }
}

#[test]
fn parameters_are_set_together_in_any_order() {
    let files = Files::new("together");
    let text =
        format!("{HEAD}[parameters]\nlow = {{ value = 1, source = \"s\" }}\nhigh = {{ value = 2, source = \"s\" }}\n{COSTS}")
            .replacen("\"*\" = 1", "\"*\" = \"high - low\"", 1);
    let model = Library.load(&files.write("m.toml", &text)).unwrap();
    for values in [[("low", 5), ("high", 10)], [("high", 10), ("low", 5)]] {
        let mut model = model.clone();
        model.set(values).unwrap();
        assert_eq!(model.opcode(0).cycles, 5, "{values:?}");
    }
    let refused = model.clone().set([("low", 5)]).unwrap_err().to_string();
    assert!(refused.contains("it is -3, and no cost can be below 0"), "{refused}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Shipped models with a stretch replaced: any outcome but a panic.
    #[test]
    fn damaged_models_do_not_panic(which in 0usize..100, at in 0usize..10_000, cut in 0usize..40, with in "[ -~\n]{0,12}") {
        let shipped = Library.shipped();
        let text = shipped[which % shipped.len()].text;
        let at = at % text.len();
        let end = (at + cut).min(text.len());
        if text.is_char_boundary(at) && text.is_char_boundary(end) {
            let text = format!("{}{with}{}", &text[..at], &text[end..]);
            if let Ok(source) = cprof_profile::target::source::read("damaged.toml", &text) {
                let _ = cprof_profile::target::Model::new("damaged", vec![source]);
            }
        }
    }
}
