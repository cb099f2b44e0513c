//! A class file and its constant pool.

use super::Code;
use std::collections::HashMap;

/// Access flags (JVMS 4.1, 4.5, 4.6).
#[allow(missing_docs)]
pub mod access {
    pub const PUBLIC: u16 = 0x0001;
    pub const PRIVATE: u16 = 0x0002;
    pub const STATIC: u16 = 0x0008;
    /// Of a class; every one has it.
    pub const SUPER: u16 = 0x0020;
    pub const SYNCHRONIZED: u16 = 0x0020;
    pub const INTERFACE: u16 = 0x0200;
    pub const ABSTRACT: u16 = 0x0400;
}

/// A constant pool; equal constants are one.
#[derive(Debug, Default)]
pub struct Pool {
    count: u16,
    bytes: Vec<u8>,
    known: HashMap<Vec<u8>, u16>,
}

impl Pool {
    /// A constant's number; `slots`: how many numbers it takes.
    fn constant(&mut self, bytes: Vec<u8>, slots: u16) -> u16 {
        if let Some(&number) = self.known.get(&bytes) {
            return number;
        }
        let number = self.count + 1;
        self.count += slots;
        self.bytes.extend(&bytes);
        self.known.insert(bytes, number);
        number
    }

    fn refers(&mut self, tag: u8, parts: &[u16]) -> u16 {
        let parts: Vec<u8> = parts.iter().flat_map(|part| part.to_be_bytes()).collect();
        self.value(tag, &parts, 1)
    }

    fn value(&mut self, tag: u8, value: &[u8], slots: u16) -> u16 {
        self.constant([&[tag], value].concat(), slots)
    }

    /// A text.
    pub fn utf8(&mut self, text: &str) -> u16 {
        let length = (text.len() as u16).to_be_bytes();
        self.value(1, &[&length, text.as_bytes()].concat(), 1)
    }

    /// An `int`.
    pub fn integer(&mut self, value: i32) -> u16 {
        self.value(3, &value.to_be_bytes(), 1)
    }

    /// A `long`.
    pub fn long(&mut self, value: i64) -> u16 {
        self.value(5, &value.to_be_bytes(), 2)
    }

    /// A `double`.
    pub fn double(&mut self, value: f64) -> u16 {
        self.value(6, &value.to_be_bytes(), 2)
    }

    /// A class, or an array's descriptor.
    pub fn class(&mut self, name: &str) -> u16 {
        let name = self.utf8(name);
        self.refers(7, &[name])
    }

    /// A `String`.
    pub fn string(&mut self, text: &str) -> u16 {
        let text = self.utf8(text);
        self.refers(8, &[text])
    }

    /// A `MethodType`.
    pub fn method_type(&mut self, descriptor: &str) -> u16 {
        let descriptor = self.utf8(descriptor);
        self.refers(16, &[descriptor])
    }

    /// A handle of a static method of a class.
    fn static_handle(&mut self, class: &str, name: &str, descriptor: &str) -> u16 {
        const REF_INVOKE_STATIC: u8 = 6;
        let [high, low] = self.method(class, name, descriptor).to_be_bytes();
        self.value(15, &[REF_INVOKE_STATIC, high, low], 1)
    }

    fn name_and_type(&mut self, name: &str, descriptor: &str) -> u16 {
        let (name, descriptor) = (self.utf8(name), self.utf8(descriptor));
        self.refers(12, &[name, descriptor])
    }

    fn member(&mut self, tag: u8, class: &str, name: &str, descriptor: &str) -> u16 {
        let (class, name_and_type) = (self.class(class), self.name_and_type(name, descriptor));
        self.refers(tag, &[class, name_and_type])
    }

    /// A field.
    pub fn field(&mut self, class: &str, name: &str, descriptor: &str) -> u16 {
        self.member(9, class, name, descriptor)
    }

    /// A method of a class.
    pub fn method(&mut self, class: &str, name: &str, descriptor: &str) -> u16 {
        self.member(10, class, name, descriptor)
    }

    /// A method of an interface.
    pub fn interface_method(&mut self, interface: &str, name: &str, descriptor: &str) -> u16 {
        self.member(11, interface, name, descriptor)
    }
}

/// A class file.
#[derive(Debug)]
pub struct Class {
    /// Its constants.
    pub pool: Pool,
    version: u16,
    access: u16,
    this: u16,
    parent: u16,
    interfaces: Vec<u16>,
    fields: Vec<[u16; 3]>,
    methods: Vec<u8>,
    method_count: u16,
    /// Handles of bootstrap methods; none of them takes arguments of its own.
    bootstraps: Vec<u16>,
}

impl Class {
    /// A public class, or with [`access::INTERFACE`] in `more` an interface.
    pub fn new(version: u16, more: u16, name: &str, parent: &str) -> Class {
        let mut pool = Pool::default();
        let (this, parent) = (pool.class(name), pool.class(parent));
        let access = access::PUBLIC | if more & access::INTERFACE == 0 { access::SUPER | more } else { more };
        Class {
            pool,
            version,
            access,
            this,
            parent,
            interfaces: Vec::new(),
            fields: Vec::new(),
            methods: Vec::new(),
            method_count: 0,
            bootstraps: Vec::new(),
        }
    }

    /// It implements an interface.
    pub fn implements(&mut self, interface: &str) {
        let interface = self.pool.class(interface);
        self.interfaces.push(interface);
    }

    /// A further field.
    pub fn field(&mut self, access: u16, name: &str, descriptor: &str) {
        let field = [access, self.pool.utf8(name), self.pool.utf8(descriptor)];
        self.fields.push(field);
    }

    /// A further method.
    pub fn method(&mut self, access: u16, name: &str, descriptor: &str, code: Code) {
        let attributes = 1;
        let code = code.attribute(&mut self.pool);
        for u in [access, self.pool.utf8(name), self.pool.utf8(descriptor), attributes, self.pool.utf8("Code")] {
            self.methods.extend(u.to_be_bytes());
        }
        self.methods.extend((code.len() as u32).to_be_bytes());
        self.methods.extend(code);
        self.method_count += 1;
    }

    /// A call site that a static method of another class links.
    pub fn call_site(&mut self, bootstrap: [&str; 2], name: &str, descriptor: &str) -> u16 {
        let made =
            "(Ljava/lang/invoke/MethodHandles$Lookup;Ljava/lang/String;Ljava/lang/invoke/MethodType;)Ljava/lang/invoke/CallSite;";
        self.dynamic(18, bootstrap, made, name, descriptor)
    }

    /// A constant that a static method of another class computes.
    pub fn dynamic_constant(&mut self, bootstrap: [&str; 2], name: &str, descriptor: &str) -> u16 {
        let made = "(Ljava/lang/invoke/MethodHandles$Lookup;Ljava/lang/String;Ljava/lang/Class;)Ljava/lang/Object;";
        self.dynamic(17, bootstrap, made, name, descriptor)
    }

    fn dynamic(&mut self, tag: u8, bootstrap: [&str; 2], made: &str, name: &str, descriptor: &str) -> u16 {
        let handle = self.pool.static_handle(bootstrap[0], bootstrap[1], made);
        let known = self.bootstraps.iter().position(|&other| other == handle);
        let number = known.unwrap_or_else(|| {
            self.bootstraps.push(handle);
            self.bootstraps.len() - 1
        });
        let name_and_type = self.pool.name_and_type(name, descriptor);
        self.pool.refers(tag, &[number as u16, name_and_type])
    }

    /// Its bytes.
    pub fn finish(mut self) -> Vec<u8> {
        let attribute = (!self.bootstraps.is_empty()).then(|| self.pool.utf8("BootstrapMethods"));
        let mut out = 0xCAFE_BABEu32.to_be_bytes().to_vec();
        let mut put = |parts: &[u16], bytes: &[u8]| {
            parts.iter().for_each(|u| out.extend(u.to_be_bytes()));
            out.extend(bytes);
        };
        put(&[0, self.version, self.pool.count + 1], &self.pool.bytes);
        put(&[self.access, self.this, self.parent, self.interfaces.len() as u16], &[]);
        put(&self.interfaces, &[]);
        put(&[self.fields.len() as u16], &[]);
        self.fields.iter().for_each(|&[access, name, descriptor]| put(&[access, name, descriptor, 0], &[]));
        put(&[self.method_count], &self.methods);
        // Attributes of the class.
        put(&[u16::from(attribute.is_some())], &[]);
        if let Some(name) = attribute {
            let arguments = 0;
            let length = 2 + 4 * self.bootstraps.len() as u32;
            put(&[name], &length.to_be_bytes());
            put(&[self.bootstraps.len() as u16], &[]);
            self.bootstraps.iter().for_each(|&handle| put(&[handle, arguments], &[]));
        }
        out
    }
}
