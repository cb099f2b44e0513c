//! What a block consists of: statements that leave the operand stack as they found it, and what pushes a value.

use super::Method;

impl Method<'_> {
    pub(super) fn constant(&mut self) {
        match self.random.below(8) {
            0 => {
                let value = *self.random.pick(&[-1000, 300, 0]);
                let [high, low] = i16::to_be_bytes(value);
                self.code.put(&[17, high, low]);
            }
            1 => {
                let index = self.class.pool.integer(self.random.below(3) as i32 + 100_000);
                self.code.put_u2(19, index);
            }
            2 => {
                let value = self.random.below(256) as u8;
                self.code.put(&[16, value]);
            }
            other => {
                self.code.put(&[other as u8]);
            }
        }
    }

    /// Loads the local, in the shortest form or another.
    fn load(&mut self, opcode: u8, local: u16) {
        if local <= 3 && self.random.percent(70) {
            self.code.put(&[26 + 4 * (opcode - 21) + local as u8]);
        } else if local <= 255 && self.random.percent(10) {
            self.code.put(&[196, opcode, 0, local as u8]);
        } else {
            self.code.local(opcode, local);
        }
    }

    fn store(&mut self, opcode: u8, local: u16) {
        if local <= 3 && self.random.percent(70) {
            self.code.put(&[59 + 4 * (opcode - 54) + local as u8]);
        } else {
            self.code.local(opcode, local);
        }
    }

    pub(super) fn int(&mut self) {
        if self.random.percent(30) {
            self.constant();
        } else {
            let local = *self.random.pick(&self.ints);
            self.load(21, local);
        }
    }

    pub(super) fn store_int(&mut self) {
        let local = *self.random.pick(&self.ints);
        self.store(54, local);
    }

    pub(super) fn long(&mut self) {
        if self.random.percent(20) {
            self.code.put(&[9]);
        } else {
            let local = *self.random.pick(&self.longs);
            self.load(22, local);
        }
    }

    fn arguments(&mut self, parameters: &[char]) {
        for &parameter in parameters {
            if parameter == 'J' { self.long() } else { self.int() }
        }
    }

    /// Pushes a new exception or object of a class nobody has the constructor of.
    pub(super) fn new_object(&mut self, class: &str) {
        let (index, constructor) = (self.class.pool.class(class), self.class.pool.method(class, "<init>", "()V"));
        self.code.put_u2(187, index).put(&[89]).put_u2(183, constructor);
    }

    pub(super) fn statement(&mut self) {
        let statement = if self.quiet { *self.random.pick(&[0, 1, 2, 5, 6, 7, 15, 16]) } else { self.random.below(18) };
        match statement {
            0 => {
                let local = *self.random.pick(&self.ints);
                self.code.iinc(local, *self.random.pick(&[1, -1, 100, -128]));
            }
            1 | 2 => {
                self.int();
                self.int();
                self.code.put(&[*self.random.pick(&[96, 100, 104, 126, 130])]);
                self.store_int();
            }
            3 | 4 => {
                self.int();
                self.int();
                self.code.put(&[*self.random.pick(&[108, 112])]);
                self.store_int();
            }
            5 => {
                self.long();
                self.long();
                let local = *self.random.pick(&self.longs);
                self.code.put(&[97]);
                self.store(55, local);
            }
            6 => {
                self.long();
                self.code.put(&[136]);
                self.store_int();
            }
            7 => self.store_across(),
            8 | 9 => self.call(),
            10 => {
                self.int();
                let index = self.class.pool.method("E", "maybe", "(I)I");
                self.code.put_u2(184, index);
                self.store_int();
            }
            11 => {
                let own = *self.random.pick(&["T", "E"]);
                let index = self.class.pool.field(own, "s", "I");
                self.code.put_u2(178, index).put_u2(179, index);
            }
            12 => {
                let index = self.class.pool.field("T", "f", "I");
                self.receiver();
                self.code.put_u2(180, index);
                self.store_int();
            }
            13 => {
                let index = self.class.pool.field("T", "f", "I");
                self.receiver();
                self.int();
                self.code.put_u2(181, index);
            }
            14 => {
                self.new_object("X");
                self.code.local(58, self.reference);
            }
            15 => {
                self.code.put(&[1]).local(58, self.reference);
            }
            17 => {
                self.receiver();
                self.code.put(&[194]);
            }
            _ => {
                self.int();
                self.int();
                self.code.put(&[95, 92, 88, 87, 87]);
            }
        }
    }

    /// `this`, or whatever is in the local for references.
    fn receiver(&mut self) {
        if !self.signature.is_static && self.random.percent(60) {
            self.load(25, 0);
        } else {
            self.load(25, self.reference);
        }
    }

    /// Stores a long or double into the last parameter's slot, so that it reaches one slot beyond; then the program's own
    /// values are put back.
    fn store_across(&mut self) {
        let Some((slot, long_parameter)) = self.last_parameter else { return };
        let (constant, store, load) = *self.random.pick(&[(10, 55, 22), (14, 57, 24)]);
        self.code.put(&[constant]);
        self.store(store, slot);
        self.load(load, slot);
        self.code.put(&[88]);
        if long_parameter {
            self.code.put(&[9]);
            self.store(55, slot - 1);
        } else {
            self.code.put(&[4]);
            self.store(54, slot);
        }
        self.code.put(&[5]);
        self.store(54, slot + 1);
    }

    fn call(&mut self) {
        let signatures = self.signatures;
        let callee = self.random.pick(signatures);
        let index = self.class.pool.method("T", &callee.name, &callee.descriptor());
        if callee.is_constructor {
            let class = self.class.pool.class("T");
            self.code.put_u2(187, class).put(&[89]);
            self.arguments(&callee.parameters);
            self.code.put_u2(183, index).local(58, self.reference);
            return;
        }
        if !callee.is_static {
            self.receiver();
        }
        self.arguments(&callee.parameters);
        self.code.put_u2(if callee.is_static { 184 } else { 182 }, index);
        self.store_int();
    }

    pub(super) fn call_super(&mut self) {
        self.load(25, 0);
        if self.random.percent(30) {
            self.new_object("X");
            self.code.put(&[87]);
        }
        let signatures = self.signatures;
        let callee = self.random.pick(signatures);
        if callee.is_constructor && self.random.percent(30) {
            self.arguments(&callee.parameters);
            let index = self.class.pool.method("T", "<init>", &callee.descriptor());
            self.code.put_u2(183, index);
        } else {
            self.int();
            let index = self.class.pool.method("S", "<init>", "(I)V");
            self.code.put_u2(183, index);
        }
    }
}
