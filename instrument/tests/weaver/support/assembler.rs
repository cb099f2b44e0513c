//! A small assembler for class files: enough to write down a method instruction by instruction.

use std::collections::HashMap;

/// A place in a method's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label(usize);

/// A constant pool under construction; equal constants are shared.
#[derive(Debug, Default)]
pub struct Pool {
    bytes: Vec<u8>,
    count: u16,
    known: HashMap<Vec<u8>, u16>,
}

impl Pool {
    fn entry(&mut self, entry: Vec<u8>, slots: u16) -> u16 {
        if let Some(&index) = self.known.get(&entry) {
            return index;
        }
        self.bytes.extend_from_slice(&entry);
        let index = self.count + 1;
        self.count += slots;
        self.known.insert(entry, index);
        index
    }

    pub fn utf8(&mut self, text: &str) -> u16 {
        let mut entry = vec![1];
        entry.extend_from_slice(&(text.len() as u16).to_be_bytes());
        entry.extend_from_slice(text.as_bytes());
        self.entry(entry, 1)
    }

    fn pair(&mut self, tag: u8, a: u16, b: u16) -> u16 {
        let ([a, b], [c, d]) = (a.to_be_bytes(), b.to_be_bytes());
        self.entry(vec![tag, a, b, c, d], 1)
    }

    fn single(&mut self, tag: u8, index: u16) -> u16 {
        let [a, b] = index.to_be_bytes();
        self.entry(vec![tag, a, b], 1)
    }

    pub fn class(&mut self, name: &str) -> u16 {
        let name = self.utf8(name);
        self.single(7, name)
    }

    pub fn string(&mut self, text: &str) -> u16 {
        let text = self.utf8(text);
        self.single(8, text)
    }

    pub fn integer(&mut self, value: i32) -> u16 {
        let mut entry = vec![3];
        entry.extend_from_slice(&value.to_be_bytes());
        self.entry(entry, 1)
    }

    pub fn long(&mut self, value: i64) -> u16 {
        let mut entry = vec![5];
        entry.extend_from_slice(&value.to_be_bytes());
        self.entry(entry, 2)
    }

    fn member(&mut self, tag: u8, class: &str, name: &str, descriptor: &str) -> u16 {
        let class = self.class(class);
        let (name, descriptor) = (self.utf8(name), self.utf8(descriptor));
        let pair = self.pair(12, name, descriptor);
        self.pair(tag, class, pair)
    }

    pub fn field(&mut self, class: &str, name: &str, descriptor: &str) -> u16 {
        self.member(9, class, name, descriptor)
    }

    pub fn method(&mut self, class: &str, name: &str, descriptor: &str) -> u16 {
        self.member(10, class, name, descriptor)
    }
}

#[derive(Debug)]
struct Fixup {
    /// What the offset counts from, and where it is written.
    from: usize,
    operand: usize,
    wide: bool,
    label: Label,
}

/// The code of a method under construction.
#[derive(Debug, Default)]
pub struct Code {
    pub bytes: Vec<u8>,
    pub max_stack: u16,
    pub max_locals: u16,
    labels: Vec<Option<usize>>,
    fixups: Vec<Fixup>,
    handlers: Vec<(Label, Label, Label, u16)>,
    /// Attributes of the code: name, content.
    pub attributes: Vec<(&'static str, Vec<u8>)>,
}

impl Code {
    pub fn new(max_stack: u16, max_locals: u16) -> Self {
        Self { max_stack, max_locals, ..Self::default() }
    }

    /// An instruction without jump offset, or several.
    pub fn put(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// An instruction with a u2 operand.
    pub fn put_u2(&mut self, opcode: u8, operand: u16) -> &mut Self {
        let [high, low] = operand.to_be_bytes();
        self.put(&[opcode, high, low])
    }

    /// A load, store or ret, `wide` where the local asks for it.
    pub fn local(&mut self, opcode: u8, local: u16) -> &mut Self {
        match local.to_be_bytes() {
            [0, low] => self.put(&[opcode, low]),
            [high, low] => self.put(&[196, opcode, high, low]),
        }
    }

    pub fn iinc(&mut self, local: u16, delta: i8) -> &mut Self {
        match local.to_be_bytes() {
            [0, low] => self.put(&[132, low, delta as u8]),
            [high, low] => {
                let [a, b] = i16::from(delta).to_be_bytes();
                self.put(&[196, 132, high, low, a, b])
            }
        }
    }

    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    pub fn place(&mut self, label: Label) -> &mut Self {
        self.labels[label.0] = Some(self.bytes.len());
        self
    }

    /// A label at the present place.
    pub fn here(&mut self) -> Label {
        let label = self.label();
        self.place(label);
        label
    }

    /// A jump; goto_w and jsr_w have long offsets.
    pub fn jump(&mut self, opcode: u8, label: Label) -> &mut Self {
        let wide = matches!(opcode, 200 | 201);
        let from = self.bytes.len();
        self.fixups.push(Fixup { from, operand: from + 1, wide, label });
        self.put(&[opcode]).put(if wide { &[0; 4] } else { &[0; 2] })
    }

    fn begin_switch(&mut self, opcode: u8, default: Label) -> usize {
        let from = self.bytes.len();
        self.bytes.push(opcode);
        while !self.bytes.len().is_multiple_of(4) {
            self.bytes.push(0);
        }
        self.case(from, default);
        from
    }

    fn case(&mut self, from: usize, label: Label) {
        self.fixups.push(Fixup { from, operand: self.bytes.len(), wide: true, label });
        self.put(&[0; 4]);
    }

    pub fn tableswitch(&mut self, low: i32, default: Label, cases: &[Label]) -> &mut Self {
        let from = self.begin_switch(170, default);
        self.put(&low.to_be_bytes()).put(&(low + cases.len() as i32 - 1).to_be_bytes());
        cases.iter().for_each(|&label| self.case(from, label));
        self
    }

    pub fn lookupswitch(&mut self, default: Label, cases: &[(i32, Label)]) -> &mut Self {
        let from = self.begin_switch(171, default);
        self.put(&(cases.len() as i32).to_be_bytes());
        for &(key, label) in cases {
            self.put(&key.to_be_bytes());
            self.case(from, label);
        }
        self
    }

    pub fn handler(&mut self, start: Label, end: Label, target: Label, catch_type: u16) -> &mut Self {
        self.handlers.push((start, end, target, catch_type));
        self
    }

    pub fn position(&self, label: Label) -> Option<usize> {
        self.labels[label.0]
    }

    /// The content of the Code attribute; `None` where an offset or position does not fit.
    fn finish(&self, pool: &mut Pool) -> Option<Vec<u8>> {
        let mut code = self.bytes.clone();
        for fixup in &self.fixups {
            let offset = self.position(fixup.label)? as i64 - fixup.from as i64;
            if fixup.wide {
                code[fixup.operand..fixup.operand + 4].copy_from_slice(&(offset as i32).to_be_bytes());
            } else {
                let offset = i16::try_from(offset).ok()?;
                code[fixup.operand..fixup.operand + 2].copy_from_slice(&offset.to_be_bytes());
            }
        }
        if code.is_empty() || code.len() > 65535 {
            return None;
        }
        let mut out = Vec::new();
        out.extend_from_slice(&self.max_stack.to_be_bytes());
        out.extend_from_slice(&self.max_locals.to_be_bytes());
        out.extend_from_slice(&(code.len() as u32).to_be_bytes());
        out.extend_from_slice(&code);
        out.extend_from_slice(&(self.handlers.len() as u16).to_be_bytes());
        for &(start, end, target, catch_type) in &self.handlers {
            for label in [start, end, target] {
                out.extend_from_slice(&u16::try_from(self.position(label)?).ok()?.to_be_bytes());
            }
            out.extend_from_slice(&catch_type.to_be_bytes());
        }
        out.extend_from_slice(&(self.attributes.len() as u16).to_be_bytes());
        for (name, content) in &self.attributes {
            out.extend_from_slice(&pool.utf8(name).to_be_bytes());
            out.extend_from_slice(&(content.len() as u32).to_be_bytes());
            out.extend_from_slice(content);
        }
        Some(out)
    }
}

/// A class under construction.
#[derive(Debug)]
pub struct Class {
    pub pool: Pool,
    pub access: u16,
    version: u16,
    names: [u16; 2],
    fields: Vec<[u16; 3]>,
    methods: Vec<u8>,
    method_count: u16,
}

impl Class {
    pub fn new(version: u16, name: &str, super_name: &str) -> Self {
        let mut pool = Pool::default();
        let names = [pool.class(name), pool.class(super_name)];
        // Public, with the calls of super methods that every class has.
        Self { pool, access: 0x21, version, names, fields: Vec::new(), methods: Vec::new(), method_count: 0 }
    }

    pub fn field(&mut self, access: u16, name: &str, descriptor: &str) {
        let field = [access, self.pool.utf8(name), self.pool.utf8(descriptor)];
        self.fields.push(field);
    }

    /// Adds a method; `None` where its code does not fit.
    pub fn method(&mut self, access: u16, name: &str, descriptor: &str, code: &Code) -> Option<()> {
        let content = code.finish(&mut self.pool)?;
        for value in [access, self.pool.utf8(name), self.pool.utf8(descriptor), 1, self.pool.utf8("Code")] {
            self.methods.extend_from_slice(&value.to_be_bytes());
        }
        self.methods.extend_from_slice(&(content.len() as u32).to_be_bytes());
        self.methods.extend_from_slice(&content);
        self.method_count += 1;
        Some(())
    }

    /// The class file.
    pub fn finish(&self) -> Vec<u8> {
        let mut out = 0xCAFE_BABEu32.to_be_bytes().to_vec();
        let mut put = |values: &[u16]| values.iter().for_each(|v| out.extend_from_slice(&v.to_be_bytes()));
        put(&[0, self.version, self.pool.count + 1]);
        out.extend_from_slice(&self.pool.bytes);
        let mut put = |values: &[u16]| values.iter().for_each(|v| out.extend_from_slice(&v.to_be_bytes()));
        put(&[self.access, self.names[0], self.names[1], 0, self.fields.len() as u16]);
        self.fields.iter().for_each(|&[access, name, descriptor]| put(&[access, name, descriptor, 0]));
        put(&[self.method_count]);
        out.extend_from_slice(&self.methods);
        out.extend_from_slice(&[0, 0]);
        out
    }
}
