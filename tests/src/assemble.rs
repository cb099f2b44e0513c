//! Assembles the classes that `programs/Generated.java` and `programs/Huge.java` call: code that javac does not write.
//!
//! Class file version 49 (JDK 5), so that subroutines are allowed and no StackMapTable is needed (JVMS 4.9, 4.10.2), but for two of version 52 that have one.

use op::*;

/// The few opcodes used here (JVMS 6.5).
mod op {
    pub const ACONST_NULL: u8 = 0x01;
    pub const ICONST_0: u8 = 0x03;
    pub const ICONST_1: u8 = 0x04;
    pub const ICONST_2: u8 = 0x05;
    pub const ICONST_4: u8 = 0x07;
    pub const LCONST_0: u8 = 0x09;
    pub const BIPUSH: u8 = 0x10;
    pub const ILOAD_0: u8 = 0x1a;
    pub const ILOAD_1: u8 = 0x1b;
    pub const ALOAD_0: u8 = 0x2a;
    pub const ISTORE_0: u8 = 0x3b;
    pub const ISTORE_1: u8 = 0x3c;
    pub const LSTORE_0: u8 = 0x3f;
    pub const LSTORE_1: u8 = 0x40;
    pub const LSTORE_2: u8 = 0x41;
    pub const LSTORE_3: u8 = 0x42;
    pub const ASTORE_2: u8 = 0x4d;
    pub const ASTORE_3: u8 = 0x4e;
    pub const POP: u8 = 0x57;
    pub const DUP2_X1: u8 = 0x5d;
    pub const SWAP: u8 = 0x5f;
    pub const IADD: u8 = 0x60;
    pub const IDIV: u8 = 0x6c;
    pub const IREM: u8 = 0x70;
    pub const IINC: u8 = 0x84;
    pub const IFNE: u8 = 0x9a;
    pub const IFEQ: u8 = 0x99;
    pub const IFLE: u8 = 0x9e;
    pub const JSR: u8 = 0xa8;
    pub const RET: u8 = 0xa9;
    pub const TABLESWITCH: u8 = 0xaa;
    pub const LOOKUPSWITCH: u8 = 0xab;
    pub const IRETURN: u8 = 0xac;
    pub const RETURN: u8 = 0xb1;
    pub const INVOKESPECIAL: u8 = 0xb7;
    pub const ATHROW: u8 = 0xbf;
    pub const GOTO_W: u8 = 0xc8;
    pub const JSR_W: u8 = 0xc9;
}

/// In a stack map, an entry with all locals and the whole stack.
const FULL: u8 = 255;
/// In a stack map, an object; it is a `Throwable`, whose number in the constant pool comes into its place.
const THROWABLE: u8 = 7;

/// A place in the code, perhaps not reached yet.
#[derive(Clone, Copy)]
struct Label(usize);

/// Code with labels.
#[derive(Default)]
struct Code {
    bytes: Vec<u8>,
    labels: Vec<usize>,
    /// The instruction, where its offset is, the offset's width in bytes, and to where.
    jumps: Vec<(usize, usize, usize, Label)>,
}

impl Code {
    fn label(&mut self) -> Label {
        self.labels.push(usize::MAX);
        Label(self.labels.len() - 1)
    }

    fn place(&mut self, label: Label) {
        self.labels[label.0] = self.bytes.len();
    }

    fn here(&mut self) -> Label {
        let label = self.label();
        self.place(label);
        label
    }

    fn emit(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    fn offset(&mut self, instruction: usize, width: usize, to: Label) {
        self.jumps.push((instruction, self.bytes.len(), width, to));
        self.bytes.extend(vec![0; width]);
    }

    fn jump(&mut self, opcode: u8, to: Label) {
        let at = self.bytes.len();
        self.bytes.push(opcode);
        self.offset(at, if matches!(opcode, GOTO_W | JSR_W) { 4 } else { 2 }, to);
    }

    fn table(&mut self, low: i32, targets: &[Label], default: Label) {
        let at = self.bytes.len();
        self.bytes.push(TABLESWITCH);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self.offset(at, 4, default);
        self.emit(&low.to_be_bytes());
        self.emit(&(low + targets.len() as i32 - 1).to_be_bytes());
        for &target in targets {
            self.offset(at, 4, target);
        }
    }

    fn lookup(&mut self, pairs: &[(i32, Label)], default: Label) {
        let at = self.bytes.len();
        self.bytes.push(LOOKUPSWITCH);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self.offset(at, 4, default);
        self.emit(&(pairs.len() as i32).to_be_bytes());
        for &(key, target) in pairs {
            self.emit(&key.to_be_bytes());
            self.offset(at, 4, target);
        }
    }

    /// `handlers`: start, end, handler.
    fn finish(mut self, name: &'static str, handlers: &[[Label; 3]]) -> Method {
        for (instruction, at, width, to) in self.jumps {
            let offset = (self.labels[to.0] as i32 - instruction as i32).to_be_bytes();
            self.bytes[at..at + width].copy_from_slice(&offset[4 - width..]);
        }
        let handlers = handlers.iter().map(|h| h.map(|label| self.labels[label.0] as u16)).collect();
        Method { name, code: self.bytes, handlers, maps: Vec::new() }
    }
}

/// A static method `(I)I`, or a constructor `(I)V`.
struct Method {
    name: &'static str,
    code: Vec<u8>,
    /// start, end, handler; any exception.
    handlers: Vec<[u16; 3]>,
    /// Its StackMapTable: number of entries, entries. Empty: none.
    maps: Vec<u8>,
}

/// The names and bytes of the classes. The huge methods have one of their own: HotSpot finds a breakpoint by walking all of its class.
pub fn classes() -> [(&'static str, Vec<u8>); 5] {
    let odd = [subroutine(), handler_by_flow(), loop_to_start(), first_is_switch(), self_covering()];
    let huge = [huge("huge", 9_000), huge("limit", 65_000)];
    [
        ("Assembled", class("Assembled", 49, &odd)),
        ("AssembledHuge", class("AssembledHuge", 49, &huge)),
        ("AssembledReuse", class("AssembledReuse", 49, &[reuse_of_this(false)])),
        ("AssembledMaps", class("AssembledMaps", 52, &[reuse_of_this(true), wide_over_parameters()])),
        ("AssembledDead", class("AssembledDead", 52, &[dead_before_super()])),
    ]
}

fn class(name: &str, version: u16, methods: &[Method]) -> Vec<u8> {
    let mut pool = Pool::default();
    let this = pool.class(name);
    let parent = pool.class("java/lang/Object");
    let code_name = pool.utf8("Code");
    let maps_name = pool.utf8("StackMapTable");
    let throwable = pool.class("java/lang/Throwable");
    let init = pool.constructor(parent);
    let mut body = Vec::new();
    for m in methods {
        const PUBLIC: u16 = 1;
        const PUBLIC_STATIC: u16 = 9;
        let mut code = m.code.clone();
        let (access, descriptor) = if m.name == "<init>" {
            let call = code.windows(3).position(|bytes| bytes == [INVOKESPECIAL, 0, 0]).expect("a call of super()");
            code[call + 1..][..2].copy_from_slice(&init.to_be_bytes());
            (PUBLIC, "(I)V")
        } else {
            (PUBLIC_STATIC, "(I)I")
        };
        let (name, descriptor) = (pool.utf8(m.name), pool.utf8(descriptor));
        for u in [access, name, descriptor, 1, code_name] {
            body.extend(u.to_be_bytes());
        }
        let maps_length = if m.maps.is_empty() { 0 } else { 6 + m.maps.len() };
        body.extend((12 + m.code.len() as u32 + 8 * m.handlers.len() as u32 + maps_length as u32).to_be_bytes());
        let (max_stack, max_locals) = (5u16, 5u16);
        body.extend(max_stack.to_be_bytes());
        body.extend(max_locals.to_be_bytes());
        body.extend((m.code.len() as u32).to_be_bytes());
        body.extend(&code);
        body.extend((m.handlers.len() as u16).to_be_bytes());
        for [start, end, handler] in m.handlers.iter().copied() {
            for u in [start, end, handler, 0] {
                body.extend(u.to_be_bytes());
            }
        }
        body.extend(u16::from(!m.maps.is_empty()).to_be_bytes()); // attributes of the code
        if !m.maps.is_empty() {
            let mut maps = m.maps.clone();
            if let [.., THROWABLE, high, low] = &mut maps[..] {
                [*high, *low] = throwable.to_be_bytes();
            }
            body.extend(maps_name.to_be_bytes());
            body.extend((m.maps.len() as u32).to_be_bytes());
            body.extend(&maps);
        }
    }
    let mut out = Vec::new();
    out.extend(0xCAFE_BABEu32.to_be_bytes());
    out.extend([0, 0]);
    out.extend(version.to_be_bytes());
    out.extend((pool.count + 1).to_be_bytes());
    out.extend(&pool.bytes);
    const PUBLIC_SUPER: u16 = 0x21;
    for u in [PUBLIC_SUPER, this, parent, 0, 0, methods.len() as u16] {
        out.extend(u.to_be_bytes());
    }
    out.extend(&body);
    out.extend(0u16.to_be_bytes()); // attributes of the class
    out
}

/// A constant pool that only grows.
#[derive(Default)]
struct Pool {
    count: u16,
    bytes: Vec<u8>,
}

impl Pool {
    fn utf8(&mut self, text: &str) -> u16 {
        self.bytes.push(1);
        self.bytes.extend((text.len() as u16).to_be_bytes());
        self.bytes.extend(text.as_bytes());
        self.count += 1;
        self.count
    }

    fn class(&mut self, name: &str) -> u16 {
        let name = self.utf8(name);
        self.entry(7, &[name])
    }

    /// `<init>()V` of a class.
    fn constructor(&mut self, class: u16) -> u16 {
        let (name, descriptor) = (self.utf8("<init>"), self.utf8("()V"));
        let name_and_type = self.entry(12, &[name, descriptor]);
        self.entry(10, &[class, name_and_type])
    }

    fn entry(&mut self, tag: u8, parts: &[u16]) -> u16 {
        self.bytes.push(tag);
        parts.iter().for_each(|part| self.bytes.extend(part.to_be_bytes()));
        self.count += 1;
        self.count
    }
}

/// Calls an outer subroutine, which calls an inner one, which divides by x % 4 and so throws for a quarter of all x: after 11
/// bytecodes; the others execute 16.
fn subroutine() -> Method {
    let mut c = Code::default();
    let (outer, inner) = (c.label(), c.label());
    c.emit(&[ILOAD_0, ISTORE_1]);
    c.jump(JSR, outer);
    c.emit(&[ILOAD_1, IRETURN]);
    c.place(outer);
    c.emit(&[ASTORE_2]);
    c.jump(JSR_W, inner);
    c.emit(&[RET, 2]);
    c.place(inner);
    c.emit(&[ASTORE_3, BIPUSH, 12, ILOAD_0, ICONST_4, IREM, IDIV, ISTORE_1, RET, 3]);
    c.finish("subroutine", &[])
}

/// The handler is entered by an exception (x = 0), by falling through (otherwise), and by a jump backwards while x is odd.
fn handler_by_flow() -> Method {
    let mut c = Code::default();
    let start = c.here();
    c.emit(&[BIPUSH, 12, ILOAD_0, IDIV, ISTORE_1]);
    let end = c.here();
    c.emit(&[ACONST_NULL]);
    let handler = c.here();
    c.emit(&[POP, IINC, 0, 1, ACONST_NULL, ILOAD_0, ICONST_2, IREM]);
    c.jump(IFNE, handler);
    c.emit(&[POP, ILOAD_0, IRETURN]);
    c.finish("handlerByFlow", &[[start, end, handler]])
}

/// Local 0 is another one as soon as `this` is on the stack for super(), and again afterwards, as R8 makes of its constructors: 7 bytecodes, of which the last throws
/// for x = 3, 4 more, then x rounds of 4, 2 at their end, and 5, of which the third throws for x = 0.
fn reuse_of_this(maps: bool) -> Method {
    let mut c = Code::default();
    c.emit(&[ALOAD_0, ILOAD_1, ISTORE_0, IINC, 0, 0xfd, BIPUSH, 12, ILOAD_0, IDIV, POP]);
    c.emit(&[INVOKESPECIAL, 0, 0, ILOAD_1, ISTORE_0]);
    let (head, out) = (c.here(), c.label());
    c.emit(&[ILOAD_0]);
    c.jump(IFEQ, out);
    c.emit(&[IINC, 0, 0xff]);
    c.jump(GOTO_W, head);
    c.place(out);
    c.emit(&[BIPUSH, 12, ILOAD_1, IDIV, POP, RETURN]);
    let [head, out] = [head, out].map(|label| c.labels[label.0] as u8);
    let mut method = c.finish("<init>", &[]);
    if maps {
        // At the loop's head two integers and an empty stack, and the same where it ends.
        method.maps = vec![0, 2, FULL, 0, head, 0, 2, 1, 1, 0, 0, out - head - 1];
    }
    method
}

/// As in [`reuse_of_this`], behind code that nothing leads to, in which `this` is not initialised, with a handler around it: 7 bytecodes, of which the last throws for
/// x = 0, and 3.
fn dead_before_super() -> Method {
    let mut c = Code::default();
    let go = c.label();
    c.jump(GOTO_W, go);
    let dead = c.here();
    c.jump(GOTO_W, dead);
    c.place(go);
    c.emit(&[ALOAD_0, ILOAD_1, ISTORE_0, BIPUSH, 12, ILOAD_0, IDIV, POP, INVOKESPECIAL, 0, 0, RETURN]);
    let handler = c.here();
    c.emit(&[ATHROW]);
    let [from, to, at] = [dead, go, handler].map(|label| c.labels[label.0] as u8);
    let mut method = c.finish("<init>", &[[dead, go, handler]]);
    const SAME_LOCALS_1: u8 = 64;
    const UNINITIALIZED_THIS: u8 = 6;
    // Twice uninitializedThis and an integer, and so for the handler, on whose stack is the exception.
    method.maps = vec![0, 3, FULL, 0, from, 0, 2, UNINITIALIZED_THIS, 1, 0, 0, to - from - 1];
    method.maps.extend([SAME_LOCALS_1 + at - to - 1, THROWABLE, 0, 0]);
    method
}

/// Stores longs to four slots in a row, from its parameter's on: 13 bytecodes, of which the last throws for x = 0, and 6.
fn wide_over_parameters() -> Method {
    let mut c = Code::default();
    let out = c.label();
    c.emit(&[ILOAD_0, LCONST_0, LSTORE_0, LCONST_0, LSTORE_1, LCONST_0, LSTORE_2, LCONST_0, LSTORE_3, ISTORE_0]);
    c.emit(&[BIPUSH, 12, ILOAD_0, IDIV, POP, ILOAD_0]);
    c.jump(IFEQ, out);
    c.emit(&[IINC, 0, 1]);
    c.place(out);
    let at = c.labels[out.0] as u8;
    c.emit(&[ILOAD_0, IRETURN]);
    let mut method = c.finish("wideOverParameters", &[]);
    method.maps = vec![0, 1, FULL, 0, at, 0, 1, 1, 0, 0];
    method
}

/// Counts its parameter down to 0; the loop's head is bytecode 0. For 5: 4 rounds of 4, 3, and 4.
fn loop_to_start() -> Method {
    let mut c = Code::default();
    let (head, out) = (c.here(), c.label());
    c.emit(&[IINC, 0, 0xff, ILOAD_0]);
    c.jump(IFEQ, out);
    c.jump(GOTO_W, head);
    c.place(out);
    c.emit(&[ILOAD_0, BIPUSH, 9, IADD, IRETURN]);
    c.finish("loopToStart", &[])
}

/// Two switches with different padding, cases shared and jumping backwards.
fn first_is_switch() -> Method {
    let mut c = Code::default();
    let (again, second, one, seven) = (c.here(), c.label(), c.label(), c.label());
    c.emit(&[ILOAD_0]);
    c.table(1, &[one, second, one, seven], second);
    c.place(one);
    c.emit(&[IINC, 0, 1]);
    c.jump(GOTO_W, again);
    c.place(second);
    c.emit(&[ILOAD_0, ICONST_0, ICONST_1, DUP2_X1, POP, POP, SWAP, POP, SWAP, POP]); // x again
    c.lookup(&[(0, seven), (5, one), (6, one)], seven);
    c.place(seven);
    c.emit(&[BIPUSH, 7, IRETURN]);
    c.finish("firstIsSwitch", &[])
}

/// The handler is inside its own range, as javac's are for finally: it throws again while x > 0, and is caught by itself.
fn self_covering() -> Method {
    let mut c = Code::default();
    let (start, out) = (c.here(), c.label());
    c.emit(&[ACONST_NULL, ATHROW]);
    let handler = c.here();
    c.emit(&[POP, IINC, 0, 0xff, ILOAD_0]);
    c.jump(IFLE, out);
    c.emit(&[ACONST_NULL, ATHROW]);
    let end = c.here();
    c.place(out);
    c.emit(&[ILOAD_0, IRETURN]);
    c.finish("selfCovering", &[[start, end, handler]])
}

/// Three rounds over a straight body of about `length` bytes, with a division in the middle that throws for x % 64 = 0 and is
/// caught.
fn huge(name: &'static str, length: usize) -> Method {
    let mut c = Code::default();
    c.emit(&[BIPUSH, 3, ISTORE_1]);
    let (head, out) = (c.here(), c.label());
    while c.bytes.len() < length / 2 {
        c.emit(&[IINC, 0, 1]);
    }
    let start = c.here();
    c.emit(&[BIPUSH, 100, ILOAD_0, BIPUSH, 64, IREM, IDIV, POP]);
    let end = c.here();
    c.emit(&[ACONST_NULL]);
    let handler = c.here();
    c.emit(&[POP]);
    while c.bytes.len() < length {
        c.emit(&[IINC, 0, 2]);
    }
    c.emit(&[IINC, 1, 0xff, ILOAD_1]);
    c.jump(IFEQ, out);
    c.jump(GOTO_W, head);
    c.place(out);
    c.emit(&[ILOAD_0, IRETURN]);
    c.finish(name, &[[start, end, handler]])
}
