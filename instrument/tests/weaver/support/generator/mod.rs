//! Random classes: well-typed for the interpreter, and as irregular as class files of version 49 may be.

mod statements;

use super::assembler::{Class, Code, Label};
use super::random::Random;

/// What a jump to a block finds on the operand stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Nothing,
    Int,
    /// A reference: as where an exception handler begins.
    Ref,
    /// A return address: a subroutine.
    Return,
}

struct Signature {
    name: String,
    parameters: Vec<char>,
    is_static: bool,
    is_constructor: bool,
}

impl Signature {
    fn descriptor(&self) -> String {
        let result = if self.is_constructor { 'V' } else { 'I' };
        format!("({}){result}", self.parameters.iter().collect::<String>())
    }
}

/// A class named `T` whose method 0 is `static int m(int, int, long)`. `size` (1 …) bounds the number of methods and blocks.
/// `None` where a method came out too long for its jumps.
pub fn class(random: &mut Random, size: usize) -> Option<Vec<u8>> {
    let mut signatures =
        vec![Signature { name: "m".into(), parameters: vec!['I', 'I', 'J'], is_static: true, is_constructor: false }];
    for k in 0..random.below(size.min(4) + 1) {
        let is_constructor = random.percent(35);
        let mut parameters = vec!['I'; if is_constructor { k + 1 } else { 0 }];
        parameters.extend((0..random.below(3)).map(|_| *random.pick(&['I', 'J'])));
        if is_constructor {
            // All constructors share a name: their numbers of parameters tell them apart.
            parameters.resize(k + 1, 'J');
        }
        signatures.push(Signature {
            name: if is_constructor { "<init>".into() } else { format!("m{k}") },
            parameters,
            is_static: !is_constructor && random.percent(50),
            is_constructor,
        });
    }
    let mut class = Class::new(49, "T", "S");
    class.field(8, "s", "I");
    class.field(0, "f", "I");
    for k in 0..signatures.len() {
        let code = Method::generate(random, &mut class, &signatures, k, size);
        let access = if signatures[k].is_static { 8 } else { 0 };
        class.method(access, &signatures[k].name, &signatures[k].descriptor(), &code)?;
    }
    Some(class.finish())
}

struct Method<'g> {
    random: &'g mut Random,
    class: &'g mut Class,
    signatures: &'g [Signature],
    signature: &'g Signature,
    code: Code,
    ints: Vec<u16>,
    longs: Vec<u16>,
    reference: u16,
    return_address: u16,
    parameter_slots: u16,
    /// Nothing in it throws or calls.
    quiet: bool,
    /// A long or double stored here reaches beyond the parameters: the slot, whether a long parameter begins before it.
    last_parameter: Option<(u16, bool)>,
    kinds: Vec<Kind>,
    blocks: Vec<Label>,
    /// Ends of statements, in order: where handler ranges may begin and end.
    cuts: Vec<Label>,
}

impl<'g> Method<'g> {
    fn generate(random: &'g mut Random, class: &'g mut Class, signatures: &'g [Signature], k: usize, size: usize) -> Code {
        let signature = &signatures[k];
        let (mut ints, mut longs) = (Vec::new(), Vec::new());
        let mut slot = u16::from(!signature.is_static);
        let mut last_parameter = None;
        for &parameter in &signature.parameters {
            if parameter == 'J' {
                longs.push(slot);
                slot += 2;
            } else {
                ints.push(slot);
                slot += 1;
            }
            last_parameter = Some((slot - 1, parameter == 'J'));
        }
        let parameter_slots = slot;
        // The slot after the parameters is an int, as `store_across` takes it for one.
        let first = if random.percent(10) { 250 + random.below(20) as u16 } else { slot + 1 };
        ints.extend([slot, first, first + 1]);
        longs.push(first + 2);
        let (reference, return_address) = (first + 4, first + 5);
        let mut code = Code::new(40, first + 6 + random.below(3) as u16);
        let number = 1 + random.below(2 * size + 1);
        let kinds = (0..number).map(|block| match random.below(20) {
            0..=2 if block > 0 => Kind::Ref,
            3..=4 if block > 0 => Kind::Int,
            5..=6 if block > 0 => Kind::Return,
            _ => Kind::Nothing,
        });
        let kinds = kinds.collect();
        let blocks = (0..number).map(|_| code.label()).collect();
        let quiet = !signature.is_constructor && random.percent(15);
        let mut method = Method {
            random,
            class,
            signatures,
            signature,
            code,
            ints,
            longs,
            reference,
            return_address,
            parameter_slots,
            quiet,
            last_parameter,
            kinds,
            blocks,
            cuts: Vec::new(),
        };
        method.body(size);
        method.handlers();
        method.code
    }

    fn body(&mut self, size: usize) {
        let number = self.blocks.len();
        let supers: Vec<usize> = match self.signature.is_constructor {
            true if self.random.percent(60) => vec![0],
            true => (0..1 + self.random.below(6) / 5).map(|_| self.random.below(number)).collect(),
            false => Vec::new(),
        };
        // Some methods are so long that with counters in them not every jump reaches.
        let long = size > 3 && self.random.percent(4);
        for block in 0..number {
            self.code.place(self.blocks[block]);
            self.cut();
            let kind = self.kinds[block];
            // Wherever a jump lands, fuel burns; `nop` is the fuel.
            self.code.put(&[0]);
            match kind {
                Kind::Nothing => {}
                Kind::Int => self.store_int(),
                Kind::Ref => {
                    self.code.local(58, self.reference);
                    // As compilers have handlers begin.
                    if self.random.percent(40) {
                        self.code.local(25, self.reference).put(&[195]);
                    }
                }
                Kind::Return => {
                    self.code.local(58, self.return_address);
                }
            }
            if block == 0 {
                self.initialise_locals();
            }
            for _ in 0..self.random.below(4) {
                self.statement();
                self.cut();
            }
            for _ in supers.iter().filter(|&&at| at == block) {
                self.call_super();
                self.cut();
            }
            if long {
                self.filler(number);
            }
            if self.random.percent(30) {
                self.statement();
            }
            self.terminator(block);
        }
        self.cut();
    }

    fn cut(&mut self) {
        let label = self.code.here();
        self.cuts.push(label);
    }

    fn handlers(&mut self) {
        let targets: Vec<Label> =
            self.kinds.iter().zip(&self.blocks).filter(|(k, _)| **k == Kind::Ref).map(|(_, &label)| label).collect();
        if targets.is_empty() {
            return;
        }
        for _ in 0..self.random.below(5) {
            let (a, b) = (self.random.below(self.cuts.len()), self.random.below(self.cuts.len()));
            let (start, end) = (self.cuts[a.min(b)], self.cuts[a.max(b)]);
            if self.code.position(start) == self.code.position(end) {
                continue;
            }
            let catch_type = match self.random.below(4) {
                0 => self.class.pool.class("java/lang/ArithmeticException"),
                1 => self.class.pool.class("X"),
                _ => 0,
            };
            let target = *self.random.pick(&targets);
            self.code.handler(start, end, target, catch_type);
        }
    }

    fn initialise_locals(&mut self) {
        let parameters = self.parameter_slots;
        for local in self.ints.clone().into_iter().filter(|&l| l >= parameters) {
            self.constant();
            self.code.local(54, local);
        }
        for local in self.longs.clone().into_iter().filter(|&l| l >= parameters) {
            self.code.put(&[10]).local(55, local);
        }
        self.code.put(&[1]).local(58, self.reference);
        // A subroutine's return address must be there for `ret`; only subroutines come to one.
    }

    /// Thousands of bytes that no path runs through, but that grow when woven.
    fn filler(&mut self, blocks: usize) {
        let end = self.code.label();
        self.code.jump(200, end);
        let divisions = (28_000 + self.random.below(4_000)) / blocks / 4;
        for _ in 0..divisions {
            // A division by zero: it needs an id, which makes it grow to seven bytes.
            self.code.put(&[4, 3, 108, 87]);
        }
        self.code.place(end);
    }

    fn push_for(&mut self, kind: Kind) {
        match kind {
            Kind::Nothing => {}
            Kind::Int => self.constant(),
            Kind::Ref if self.random.percent(50) => {
                self.code.put(&[1]);
            }
            Kind::Ref => {
                self.code.local(25, self.reference);
            }
            Kind::Return => unreachable!("subroutines are entered by jsr"),
        }
    }

    fn blocks_of(&self, kind: Kind) -> Vec<Label> {
        self.kinds.iter().zip(&self.blocks).filter(|(k, _)| **k == kind).map(|(_, &label)| label).collect()
    }

    fn terminator(&mut self, block: usize) {
        let next = self.kinds.get(block + 1).copied().filter(|&k| k != Kind::Return);
        if self.kinds[block] == Kind::Return && self.random.percent(60) {
            let local = self.return_address;
            self.code.local(169, local);
            return;
        }
        match (self.random.below(14), next) {
            (0..=1, Some(kind)) => self.push_for(kind),
            (2..=5, Some(kind)) => {
                self.push_for(kind);
                let targets = self.blocks_of(kind);
                let target = if self.random.percent(15) { self.blocks[block + 1] } else { *self.random.pick(&targets) };
                match self.random.below(3) {
                    0 => {
                        self.code.local(25, self.reference);
                        self.code.jump(*self.random.pick(&[198, 199]), target);
                    }
                    1 => {
                        self.int();
                        self.code.jump(153 + self.random.below(6) as u8, target);
                    }
                    _ => {
                        self.int();
                        self.int();
                        self.code.jump(159 + self.random.below(6) as u8, target);
                    }
                }
            }
            (6, Some(Kind::Nothing)) => {
                let subroutines = self.blocks_of(Kind::Return);
                if !subroutines.is_empty() {
                    let target = *self.random.pick(&subroutines);
                    self.code.jump(*self.random.pick(&[168, 201]), target);
                }
            }
            (7..=8, _) => {
                let kind = self.some_kind();
                self.push_for(kind);
                let targets = self.blocks_of(kind);
                let target = *self.random.pick(&targets);
                self.code.jump(*self.random.pick(&[167, 167, 200]), target);
            }
            (9..=10, _) => {
                let kind = self.some_kind();
                self.push_for(kind);
                self.int();
                let targets = self.blocks_of(kind);
                let cases: Vec<Label> = (0..self.random.below(5)).map(|_| *self.random.pick(&targets)).collect();
                let default = *self.random.pick(&targets);
                if !cases.is_empty() && self.random.percent(50) {
                    self.code.tableswitch(self.random.below(4) as i32 - 1, default, &cases);
                } else {
                    let cases: Vec<_> = cases.iter().enumerate().map(|(k, &l)| (3 * k as i32 - 1, l)).collect();
                    self.code.lookupswitch(default, &cases);
                }
            }
            (11, _) if !self.quiet => {
                if self.random.percent(50) {
                    self.new_object("X");
                } else {
                    self.code.local(25, self.reference);
                }
                self.code.put(&[191]);
            }
            _ if self.signature.is_constructor => {
                self.code.put(&[177]);
            }
            _ => {
                if self.random.percent(30) {
                    // Whatever else is on the stack goes with the frame.
                    self.long();
                    self.long();
                }
                self.int();
                self.code.put(&[172]);
            }
        }
    }

    fn some_kind(&mut self) -> Kind {
        let kinds: Vec<Kind> = self.kinds.iter().copied().filter(|&k| k != Kind::Return).collect();
        *self.random.pick(&kinds)
    }
}
