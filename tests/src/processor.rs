//! The cycles a trace takes on JOP, worked out event by event from the project's timing table: a second opinion, of which no line
//! is shared with the agent or the crate that evaluates profiles.

use crate::OrFail;
use crate::caches::Cores;
use crate::trace::{Trace, What};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// What is compared of a context or a method.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cycles {
    /// Cycles of its bytecodes, the calls it made and its returns.
    pub own: u64,
    /// With those of all it called.
    pub total: u64,
    /// Times it was entered and was not in the cache.
    pub entry_misses: u64,
    /// Times it returned and its caller was not in the cache.
    pub return_misses: u64,
}

impl Cycles {
    /// Adds another context's.
    pub fn add(&mut self, other: Cycles) {
        self.own += other.own;
        self.total += other.total;
        self.entry_misses += other.entry_misses;
        self.return_misses += other.return_misses;
    }
}

/// The sums of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sums {
    /// All cycles.
    pub cycles: u64,
    /// Those of bytecodes that the table has no time for.
    pub estimated: u64,
    /// Those of calls by the JVM and native code.
    pub upcalls: u64,
    /// Those of bytecodes that threw.
    pub exceptions: u64,
    /// Calls, and normal returns to a method.
    pub lookups: u64,
    /// All misses.
    pub misses: u64,
    /// Executed bytecodes.
    pub bytecodes: u64,
}

/// A run on a processor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OnProcessor {
    /// By context: the path of names.
    pub contexts: BTreeMap<String, Cycles>,
    /// By method: `Class.method(descriptor)`.
    pub methods: BTreeMap<String, Cycles>,
    /// Sums.
    pub sums: Sums,
}

impl OnProcessor {
    /// Without contexts and methods of which everything was left out.
    pub fn without_zeros(mut self) -> OnProcessor {
        for map in [&mut self.contexts, &mut self.methods] {
            map.retain(|_, cycles| *cycles != Cycles::default());
        }
        self
    }
}

/// Opcodes with conventions of their own.
const IINC: u8 = 132;
const RETURNS: std::ops::RangeInclusive<u8> = 172..=177;
const INVOKES: std::ops::RangeInclusive<u8> = 182..=186;
const INVOKESTATIC: u8 = 184;
const INVOKEDYNAMIC: u8 = 186;

/// JOP in 2009 with some wait states.
pub struct Timing {
    /// By opcode, in terms of r, w and l; none where the table has -1.
    formulas: Vec<Option<String>>,
    /// What [`Timing::of`] has answered, by opcode and `l`.
    known: RefCell<HashMap<(u8, i64), (u64, bool)>>,
    r: i64,
    w: i64,
}

impl Timing {
    /// Reads the table.
    pub fn read(r: i64, w: i64) -> Timing {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../profile/tests/format/data/jop-timing.tsv");
        let text = std::fs::read_to_string(&file).or_fail(file.display());
        let mut formulas = vec![None; 256];
        for line in text.lines().filter(|l| l.starts_with(|c: char| c.is_ascii_digit())) {
            let columns: Vec<&str> = line.split('\t').collect();
            let opcode: usize = columns[0].parse().or_fail(line);
            formulas[opcode] = Some(columns[3].to_owned()).filter(|formula| formula != "-1");
        }
        assert_eq!(formulas[usize::from(INVOKESTATIC)].as_deref(), Some("74+r+max(0,r-3)+max(0,r-2)+max(0,l-37)"));
        Timing { formulas, known: RefCell::default(), r, w }
    }

    /// What a bytecode takes, and whether that is an average; with a method load, its time is `l`.
    fn of(&self, opcode: u8, l: i64) -> (u64, bool) {
        // The linker replaces iinc by four bytecodes.
        if opcode == IINC {
            return (4, false);
        }
        *self.known.borrow_mut().entry((opcode, l)).or_insert_with(|| match &self.formulas[usize::from(opcode)] {
            Some(formula) => (Formula { rest: formula, timing: self, l }.whole() as u64, false),
            None => (200, true),
        })
    }

    /// The time to have a method in the cache.
    fn load(&self, code_length: u32, missed: bool) -> i64 {
        let words = i64::from(code_length.div_ceil(4));
        if missed { 6 + (words + 1) * (1 + self.r.max(1)) } else { 4 }
    }

    /// A call by an opcode; by none: like invokestatic, as is an invokedynamic, which the processor does not have.
    fn call(&self, opcode: u8, code_length: u32, missed: bool) -> u64 {
        let opcode = if matches!(opcode, 0 | INVOKEDYNAMIC) { INVOKESTATIC } else { opcode };
        self.of(opcode, self.load(code_length, missed)).0
    }
}

/// `a+b-c*d`, max(a,b), numbers, r, w, l.
struct Formula<'t> {
    rest: &'t str,
    timing: &'t Timing,
    l: i64,
}

impl Formula<'_> {
    fn whole(mut self) -> i64 {
        let value = self.sum();
        assert_eq!(self.rest, "", "the formula goes on");
        value
    }

    fn takes(&mut self, token: &str) -> bool {
        let rest = self.rest.strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn sum(&mut self) -> i64 {
        let mut value = self.product();
        loop {
            if self.takes("+") {
                value += self.product();
            } else if self.takes("-") {
                value -= self.product();
            } else {
                return value;
            }
        }
    }

    fn product(&mut self) -> i64 {
        let mut value = self.atom();
        while self.takes("*") {
            value *= self.atom();
        }
        value
    }

    fn atom(&mut self) -> i64 {
        if self.takes("max(") {
            let left = self.sum();
            assert!(self.takes(","), "max has two arguments: {}", self.rest);
            let right = self.sum();
            assert!(self.takes(")"), "max ends with a parenthesis: {}", self.rest);
            return left.max(right);
        }
        for (name, value) in [("r", self.timing.r), ("w", self.timing.w), ("l", self.l)] {
            if self.takes(name) {
                return value;
            }
        }
        let digits = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
        let (number, rest) = self.rest.split_at(digits);
        self.rest = rest;
        number.parse().or_fail(format_args!("number in a formula, before {rest:?}"))
    }
}

/// What a trace takes with a method cache, as on the command line.
pub fn simulate(trace: &Trace, timing: &Timing, cache: &str) -> OnProcessor {
    let mut sums = Sums::default();
    let mut each = vec![Cycles::default(); trace.contexts.len()];
    for (context, cycles) in trace.contexts.iter().zip(&mut each) {
        sums.bytecodes += context.bytecodes;
        for &(opcode, executions) in &context.opcodes {
            // Calls and returns count when they happen: below.
            if !INVOKES.contains(&opcode) && !RETURNS.contains(&opcode) {
                let (cost, average) = timing.of(opcode, 0);
                cycles.own += cost * executions;
                sums.estimated += if average { cost * executions } else { 0 };
            }
        }
    }
    let mut cores = Cores::new(cache);
    let mut stacks: HashMap<usize, Vec<usize>> = HashMap::new();
    for event in &trace.events {
        let stack = stacks.entry(event.thread).or_default();
        let context = &trace.contexts[event.context];
        if let What::Entered(by) = event.what {
            let missed = cores.misses(event.thread, context.method, context.code_length);
            each[event.context].entry_misses += u64::from(missed && event.counted);
            sums.lookups += u64::from(event.counted);
            if let Some(&caller) = stack.last()
                && event.counted
            {
                let cost = timing.call(by, context.code_length, missed);
                each[caller].own += cost;
                sums.upcalls += if by == 0 { cost } else { 0 };
            }
            stack.push(event.context);
            continue;
        }
        if let What::Thrown(opcode) | What::Caught(opcode) = event.what {
            // What a call let through was thrown elsewhere.
            sums.exceptions += if INVOKES.contains(&opcode) || !event.counted { 0 } else { timing.of(opcode, 0).0 };
        }
        if matches!(event.what, What::Caught(_)) {
            continue;
        }
        assert_eq!(stack.pop(), Some(event.context), "what is left was entered last");
        let What::Returned(opcode) = event.what else { continue };
        let mut load = timing.load(0, false);
        if let Some(&caller) = stack.last() {
            let caller = &trace.contexts[caller];
            let missed = cores.misses(event.thread, caller.method, caller.code_length);
            each[event.context].return_misses += u64::from(missed && event.counted);
            sums.lookups += u64::from(event.counted);
            load = timing.load(caller.code_length, missed);
        }
        each[event.context].own += if event.counted { timing.of(opcode, load).0 } else { 0 };
    }
    named(trace, each, sums)
}

/// Adds up what is below each context, and merges contexts of one name.
fn named(trace: &Trace, mut each: Vec<Cycles>, mut sums: Sums) -> OnProcessor {
    for at in (1..each.len()).rev() {
        each[at].total += each[at].own;
        each[trace.contexts[at].parent].total += each[at].total;
        sums.cycles += each[at].own;
        sums.misses += each[at].entry_misses + each[at].return_misses;
    }
    let mut out = OnProcessor { sums, ..OnProcessor::default() };
    for (context, &cycles) in trace.contexts.iter().zip(&each).skip(1) {
        out.contexts.entry(context.path.clone()).or_default().add(cycles);
        // What is below a recursive call is below the outermost one already.
        let mut outer = context.parent;
        while outer != 0 && trace.contexts[outer].name != context.name {
            outer = trace.contexts[outer].parent;
        }
        let total = if outer == 0 { cycles.total } else { 0 };
        out.methods.entry(context.name.clone()).or_default().add(Cycles { total, ..cycles });
    }
    out
}
