//! Class files with just what the tests need.

pub use cprof_instrument::classfile::opcode::op;

/// A class file in the making.
pub struct ClassWriter {
    pool: Vec<u8>,
    entries: u16,
    this: u16,
    superclass: u16,
    methods: Vec<u8>,
    method_count: u16,
    /// How many, and what they are.
    attributes: (u16, Vec<u8>),
}

impl ClassWriter {
    /// A class by internal name; an empty superclass is none.
    pub fn new(name: &str, superclass: &str) -> ClassWriter {
        let mut class = ClassWriter {
            pool: vec![],
            entries: 0,
            this: 0,
            superclass: 0,
            methods: vec![],
            method_count: 0,
            attributes: (0, vec![]),
        };
        class.this = class.class(name);
        class.superclass = if superclass.is_empty() { 0 } else { class.class(superclass) };
        class
    }

    fn entry(&mut self, bytes: &[u8]) -> u16 {
        self.pool.extend(bytes);
        self.entries += 1;
        self.entries
    }

    fn utf8(&mut self, text: &str) -> u16 {
        let mut bytes = vec![1];
        bytes.extend((text.len() as u16).to_be_bytes());
        bytes.extend(text.as_bytes());
        self.entry(&bytes)
    }

    fn pair(&mut self, tag: u8, a: u16, b: u16) -> u16 {
        let ([a, b], [c, d]) = (a.to_be_bytes(), b.to_be_bytes());
        self.entry(&[tag, a, b, c, d])
    }

    fn class(&mut self, name: &str) -> u16 {
        let [a, b] = self.utf8(name).to_be_bytes();
        self.entry(&[7, a, b])
    }

    /// Gives it a SourceFile attribute.
    pub fn source_file(&mut self, name: &str) {
        let (attribute, [a, b]) = (self.utf8("SourceFile"), self.utf8(name).to_be_bytes());
        let (number, attributes) = &mut self.attributes;
        *number += 1;
        attributes.extend(attribute.to_be_bytes());
        attributes.extend([0, 0, 0, 2, a, b]);
    }

    /// The index of a Methodref, as an operand.
    pub fn methodref(&mut self, class: &str, name: &str, descriptor: &str) -> [u8; 2] {
        let class = self.class(class);
        let (name, descriptor) = (self.utf8(name), self.utf8(descriptor));
        let name_and_type = self.pair(12, name, descriptor);
        self.pair(10, class, name_and_type).to_be_bytes()
    }

    fn head(&mut self, name: &str, descriptor: &str, access: u16, attributes: u16) {
        let (name, descriptor) = (self.utf8(name), self.utf8(descriptor));
        for value in [access, name, descriptor, attributes] {
            self.methods.extend(value.to_be_bytes());
        }
        self.method_count += 1;
    }

    /// Adds a native method.
    pub fn native(&mut self, name: &str, descriptor: &str, access: u16) {
        self.head(name, descriptor, access, 0);
    }

    /// Adds a method with this code.
    pub fn method(&mut self, name: &str, descriptor: &str, access: u16, code: &[u8]) {
        self.code(name, descriptor, access, code, &[0, 0]); // no attributes
    }

    /// Adds a method with this code and these lines: bytecode index, line.
    pub fn method_with_lines(&mut self, name: &str, descriptor: &str, access: u16, code: &[u8], lines: &[(u16, u16)]) {
        let mut attributes = vec![0, 1];
        attributes.extend(self.utf8("LineNumberTable").to_be_bytes());
        attributes.extend((2 + 4 * lines.len() as u32).to_be_bytes());
        attributes.extend((lines.len() as u16).to_be_bytes());
        for (bci, line) in lines {
            attributes.extend(bci.to_be_bytes());
            attributes.extend(line.to_be_bytes());
        }
        self.code(name, descriptor, access, code, &attributes);
    }

    fn code(&mut self, name: &str, descriptor: &str, access: u16, code: &[u8], attributes: &[u8]) {
        let attribute = self.utf8("Code");
        self.head(name, descriptor, access, 1);
        self.methods.extend(attribute.to_be_bytes());
        self.methods.extend((10 + code.len() as u32 + attributes.len() as u32).to_be_bytes());
        self.methods.extend([0, 8, 0, 8]); // max_stack, max_locals
        self.methods.extend((code.len() as u32).to_be_bytes());
        self.methods.extend(code);
        self.methods.extend([0, 0]); // no handlers
        self.methods.extend(attributes);
    }

    /// The class file.
    pub fn finish(self) -> Vec<u8> {
        let mut out = vec![0xCA, 0xFE, 0xBA, 0xBE, 0, 0, 0, 52];
        out.extend((self.entries + 1).to_be_bytes());
        out.extend(self.pool);
        for value in [0x21, self.this, self.superclass, 0, 0, self.method_count] {
            out.extend(value.to_be_bytes());
        }
        out.extend(self.methods);
        let (number, attributes) = self.attributes;
        out.extend(number.to_be_bytes());
        out.extend(attributes);
        out
    }
}
