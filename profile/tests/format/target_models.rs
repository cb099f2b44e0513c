//! The shipped models against published tables, and what is refused.

use cprof_profile::target::names::Space;
use cprof_profile::target::source::read;
use cprof_profile::target::{Accuracy, CycleEstimator, InvokeKind, Library, Model, ModelFile};
use std::collections::BTreeMap;

const TIMING: &str = include_str!("data/jop-timing.tsv");

/// A formula of the table, evaluated by the shortest means: no code is shared with the models.
struct Formula<'t> {
    rest: &'t [u8],
    values: &'t dyn Fn(u8) -> i64,
}

impl Formula<'_> {
    fn eat(&mut self, c: u8) -> bool {
        let found = self.rest.first() == Some(&c);
        self.rest = &self.rest[usize::from(found)..];
        found
    }

    fn sum(&mut self) -> i64 {
        let mut sum = self.product();
        loop {
            if self.eat(b'+') {
                sum += self.product();
            } else if self.eat(b'-') {
                sum -= self.product();
            } else {
                return sum;
            }
        }
    }

    fn product(&mut self) -> i64 {
        let mut product = self.atom();
        while self.eat(b'*') {
            product *= self.atom();
        }
        product
    }

    fn atom(&mut self) -> i64 {
        if self.eat(b'(') {
            let value = self.sum();
            assert!(self.eat(b')'));
            return value;
        }
        if self.eat(b'm') {
            assert!(self.eat(b'a') && self.eat(b'x') && self.eat(b'('));
            let mut most = self.sum();
            while self.eat(b',') {
                most = most.max(self.sum());
            }
            assert!(self.eat(b')'));
            return most;
        }
        if self.rest[0].is_ascii_alphabetic() {
            let name = self.rest[0];
            self.rest = &self.rest[1..];
            return (self.values)(name);
        }
        let digits = self.rest.iter().take_while(|c| c.is_ascii_digit()).count();
        assert!(digits > 0, "{:?}", String::from_utf8_lossy(self.rest));
        let number = std::str::from_utf8(&self.rest[..digits]).unwrap().parse().unwrap();
        self.rest = &self.rest[digits..];
        number
    }
}

/// A cost of the table with wait states and load time; none where it has none.
fn table(formula: &str, r: i64, w: i64, l: i64) -> Option<u64> {
    if formula == "-1" {
        return None;
    }
    let values = move |name| match name {
        b'r' => r,
        b'w' => w,
        b'l' => l,
        _ => panic!("the table has {}", name as char),
    };
    let mut formula = Formula { rest: formula.as_bytes(), values: &values };
    let value = formula.sum();
    assert!(formula.rest.is_empty());
    Some(value as u64)
}

fn load_time(r: i64, miss: Option<u32>) -> i64 {
    miss.map_or(4, |n| 6 + (i64::from(n) + 1) * (1 + r.max(1)))
}

/// Compares a model with a column of the table; answers how many numbers were compared.
fn compare(name: &str, column: usize) -> usize {
    let rows: Vec<Vec<&str>> = TIMING.lines().filter(|l| !l.starts_with('#')).map(|l| l.split('\t').collect()).collect();
    let rows: Vec<_> = rows.into_iter().filter(|r| r[0].parse::<usize>().is_ok_and(|opcode| opcode <= 201)).collect();
    assert_eq!(rows.len(), 202);
    let mut compared = 0;
    for r in 0..=5 {
        for w in 0..=5 {
            let mut model = Library.load(name).unwrap();
            model.set([("rws", r), ("wws", w)]).unwrap();
            for row in &rows {
                let opcode: u8 = row[0].parse().unwrap();
                let context = format!("{name}, {} with r = {r}, w = {w}", row[1]);
                let invoke = InvokeKind::of_opcode(opcode);
                if invoke.is_none() && !Space::Returns.has(opcode.into()) {
                    let expected = match row[1] {
                        "iinc" => 4, // what JOP's linker makes of it, not the table's 8
                        _ => table(row[column], r, w, 4).unwrap_or(200),
                    };
                    assert_eq!(model.opcode(opcode).cycles, expected, "{context}");
                    assert_eq!(model.opcode(opcode).estimated, row[column] == "-1", "{context}");
                    compared += 1;
                    continue;
                }
                let misses = [None].into_iter().chain((0..=300).map(Some));
                for miss in misses {
                    let l = load_time(r, miss);
                    let found = match invoke {
                        Some(kind) => model.invoke(kind, miss),
                        None => model.leave(opcode, miss),
                    };
                    // invokedynamic is no bytecode of JOP's: charged as invokestatic.
                    let formula = if opcode == 186 { rows[184][column] } else { row[column] };
                    assert_eq!(found, Ok(table(formula, r, w, l).unwrap()), "{context}, miss {miss:?}");
                    compared += 1;
                }
            }
            for miss in [None, Some(0), Some(17), Some(300)] {
                assert_eq!(model.invoke(InvokeKind::Vm, miss), model.invoke(InvokeKind::Static, miss));
            }
        }
    }
    compared
}

#[test]
fn every_bytecode_of_2009() {
    assert_eq!(compare("jop", 3), 36 * (191 + 11 * 302));
}

#[test]
fn every_bytecode_of_2014() {
    assert_eq!(compare("jop-2014", 6), 36 * (191 + 11 * 302));
}

#[test]
fn bytecodes_count_bytecodes() {
    let model = Library.load("bytecodes").unwrap();
    for opcode in Space::Bytecodes.all() {
        assert_eq!(model.opcode(opcode as u8).cycles, u64::from(opcode != 196), "opcode {opcode}");
    }
    for miss in [None, Some(100)] {
        assert_eq!(model.invoke(InvokeKind::Interface, miss), Ok(1));
        assert_eq!(model.invoke(InvokeKind::Vm, miss), Ok(0));
        assert_eq!(model.leave(177, miss), Ok(1));
    }
}

/// What a variant changes against its base, by mnemonic.
fn changes(base: &str, variant: &str) -> BTreeMap<&'static str, i64> {
    let (base, variant) = (Library.load(base).unwrap(), Library.load(variant).unwrap());
    let change =
        |o: usize| (Space::Bytecodes.name(o), variant.opcode(o as u8).cycles as i64 - base.opcode(o as u8).cycles as i64);
    Space::Bytecodes.all().map(change).filter(|c| c.1 != 0).collect()
}

#[test]
fn variants_change_what_they_say() {
    let pipeline = changes("jop", "jop-long-pipeline");
    assert_eq!(pipeline.len(), 17, "14 comparisons, ifnull, ifnonnull, goto");
    assert!(pipeline.iter().all(|(name, change)| *change == 1 && (name.starts_with("if") || *name == "goto")));
    let fetch = changes("jop", "jop-wide-fetch");
    for (name, change) in [
        ("bipush", -1),
        ("sipush", -2),
        ("ldc", -2),
        ("getstatic", -3),
        ("putfield", -3),
        ("iload", -1),
        ("astore", -1),
        ("goto", 1),
    ] {
        assert_eq!(fetch.get(name), Some(&change), "{name}");
    }
    assert_eq!(fetch.get("iinc"), None);
    assert!(changes("jop", "jop-fast-invoke").is_empty());
    assert_eq!(changes("jop", "jop-combined"), fetch);
    let fast = Library.load("jop-fast-invoke").unwrap();
    let invoke = |model: &Model, kind| model.invoke(kind, None).unwrap();
    assert_eq!(invoke(&fast, InvokeKind::Static) + fast.leave(172, None).unwrap(), 54);
    assert_eq!(invoke(&fast, InvokeKind::Virtual) - invoke(&fast, InvokeKind::Static), 8);
    let combined = Library.load("jop-combined").unwrap();
    for kind in InvokeKind::ALL {
        for miss in [None, Some(0), Some(50)] {
            assert_eq!(combined.invoke(kind, miss), fast.invoke(kind, miss));
        }
    }
}

#[test]
fn every_shipped_model_is_whole() {
    assert!(Library.shipped().len() >= 11);
    for shipped in Library.shipped() {
        let model = Library.load(shipped.name).unwrap_or_else(|e| panic!("{e}"));
        assert!(!model.title.is_empty() && !model.gaps.is_empty(), "{}", shipped.name);
        if model.accuracy == Accuracy::Coarse {
            assert!(model.gaps.len() >= 3, "{} says what it does not know", shipped.name);
        }
        let spaces = [Space::Bytecodes, Space::Invokes, Space::Returns];
        for (space, number) in spaces.iter().flat_map(|s| s.all().map(move |n| (*s, n))) {
            let name = space.name(number);
            assert!(model.formulas(space, number).all(|f| !f.source.is_empty()), "{}: {name} has a source", shipped.name);
        }
    }
}

#[test]
fn sources_are_those_of_the_file_that_named_them() {
    // Two files may have one name, and call different sources by one.
    let base = Library.shipped().iter().find(|s| s.name == "jop").unwrap().text;
    let text = "base = \"jop\"\ntitle = \"t\"\naccuracy = \"coarse\"\n[sources]\nwcet = \"mine\"\n[bytecodes]\nsource = \"wcet\"\nnop = 2\n";
    let model = Model::new("jop", [text, base].map(|text| read("jop.toml", text).unwrap()).into()).unwrap();
    let of = |space, number| model.formulas(space, number).next().unwrap().source.clone();
    assert_eq!(of(Space::Bytecodes, 0), "mine");
    let shipped = of(Space::Invokes, 0);
    assert!(shipped.contains("WCET timing table") && of(Space::Bytecodes, 1) == shipped, "{shipped}");
}

#[test]
fn a_recording_keeps_the_files_of_its_model() {
    let head = |base: &str| {
        format!("base = \"{base}\"\ntitle = \"t\"\naccuracy = \"coarse\"\n[sources]\ns = \"s\"\n[bytecodes]\nsource = \"s\"\n")
    };
    let kept = |path: &str, text| ModelFile { path: path.to_owned(), text };
    let own = kept("/gone/mine.toml", head("other/base.toml") + "nop = \"+1\"\n");
    let base = kept("/gone/other/base.toml", head("jop") + "nop = 20\n");
    let recorded = |files: &[&ModelFile]| Library.recorded(&own.path, &files.iter().copied().cloned().collect::<Vec<_>>());
    let model = recorded(&[&own, &base]).unwrap();
    assert_eq!((model.name(), model.opcode(0).cycles), ("mine", 21));
    assert_eq!(model.texts, [&*own.text, &*base.text]);
    let lacks = recorded(&[&own]).unwrap_err().to_string();
    assert_eq!(lacks, "/gone/mine.toml:1:8: the recording does not keep the file other/base.toml");
    assert!(recorded(&[&own, &own]).unwrap_err().to_string().contains("in a circle"));
}

/// A measured loop, as the model counts it: cycles of the bytecodes in it, and the clock over iterations per second.
#[test]
fn coarse_models_give_back_their_measurements() {
    let sum = |m: &Model, opcodes: &[u8]| opcodes.iter().map(|o| m.opcode(*o).cycles).sum::<u64>() as f64;
    let (iload, iadd, aload, getfield) = (26, 96, 42, 180);
    let call =
        |m: &Model, kind, others: &[u8]| sum(m, others) + (m.invoke(kind, None).unwrap() + m.leave(172, None).unwrap()) as f64;
    // iload+iadd, iinc, ldc, getfield, getstatic, iaload, invoke, static, interface: iterations per second of the handbook
    for (name, mhz, measured) in [
        (
            "aj-100",
            103e6,
            [12_710_000., 9_320_000., 11_275_000., 4_433_000., 6_786_000., 7_854_000., 894_689., 1_084_359., 674_759.],
        ),
        ("komodo", 33e6, [4_111_569., 8_318_030., 825_446., 687_877., 412_723., 1_180_501., 85_874., 48_510., 20_402.]),
    ] {
        let m = Library.load(name).unwrap();
        let modelled = [
            sum(&m, &[iload, iadd]),
            sum(&m, &[132]),
            sum(&m, &[18]) - sum(&m, &[3]),
            sum(&m, &[aload, getfield, iadd]),
            sum(&m, &[178, iadd]),
            sum(&m, &[iload, 46]),
            call(&m, InvokeKind::Virtual, &[aload, iload, iload]),
            call(&m, InvokeKind::Static, &[iload, iload]),
            call(&m, InvokeKind::Interface, &[aload, getfield, iload, iload]),
        ];
        for (i, (model, measured)) in modelled.iter().zip(measured).enumerate() {
            let cycles = mhz / measured;
            assert!((model / cycles - 1.0).abs() < 0.02, "{name}, loop {i}: {model} cycles, measured {cycles:.2}");
        }
    }
}
