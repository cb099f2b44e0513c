//! The classes that `programs/Generated.java` and `programs/Huge.java` call: code that javac does not write.
//!
//! Class file version 49 (JDK 5), so that subroutines are allowed and no StackMapTable is needed (JVMS 4.9, 4.10.2), but for some
//! of version 52 that have one.

use super::op::*;
use super::{Class, Code, Item, access};

/// A static method `(I)I`, or a constructor `(I)V`.
type Method = (&'static str, Code);

/// The names and bytes of the classes. Each huge method has one of its own: HotSpot finds a breakpoint by walking all of its class.
pub fn classes() -> [(&'static str, Vec<u8>); 8] {
    let odd = |_: &mut Class| vec![subroutine(), handler_by_flow(), loop_to_start(), first_is_switch(), self_covering()];
    [
        ("Assembled", class("Assembled", 49, odd)),
        ("AssembledMonitors", class("AssembledMonitors", 49, |class| vec![lock(class), late_unlock(class)])),
        ("AssembledHuge", class("AssembledHuge", 49, |_| vec![huge("huge", 9_000)])),
        ("AssembledLimit", class("AssembledLimit", 49, |_| vec![huge("limit", 65_000)])),
        ("AssembledReuse", class("AssembledReuse", 49, |class| vec![reuse_of_this(class, false)])),
        ("AssembledMaps", class("AssembledMaps", 52, |class| vec![reuse_of_this(class, true), wide_over_parameters()])),
        ("AssembledDead", class("AssembledDead", 52, |class| vec![dead_before_super(class)])),
        ("AssembledForgets", class("AssembledForgets", 52, |class| vec![forgets_local_0(class)])),
    ]
}

fn class(name: &str, version: u16, methods: impl Fn(&mut Class) -> Vec<Method>) -> Vec<u8> {
    let mut class = Class::new(version, 0, name, OBJECT);
    for (name, code) in methods(&mut class) {
        let constructor = name == "<init>";
        let access = if constructor { access::PUBLIC } else { access::PUBLIC | access::STATIC };
        class.method(access, name, if constructor { "(I)V" } else { "(I)I" }, code);
    }
    class.finish()
}

const OBJECT: &str = "java/lang/Object";

/// Room for what any of them needs.
fn code() -> Code {
    Code::new(5, 5)
}

/// `super()`.
fn call_super(c: &mut Code, class: &mut Class) {
    c.emit_u2(INVOKESPECIAL, class.pool.method(OBJECT, "<init>", "()V"));
}

/// Calls an outer subroutine, which calls an inner one, which divides by x % 4 and so throws for a quarter of all x: after 11
/// bytecodes; the others execute 16.
fn subroutine() -> Method {
    let mut c = code();
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
    ("subroutine", c)
}

/// The handler is entered by an exception (x = 0), by falling through (otherwise), and by a jump backwards while x is odd.
fn handler_by_flow() -> Method {
    let mut c = code();
    let start = c.here();
    c.emit(&[BIPUSH, 12, ILOAD_0, IDIV, ISTORE_1]);
    let end = c.here();
    c.emit(&[ACONST_NULL]);
    let handler = c.here();
    c.emit(&[POP, IINC, 0, 1, ACONST_NULL, ILOAD_0, ICONST_2, IREM]);
    c.jump(IFNE, handler);
    c.emit(&[POP, ILOAD_0, IRETURN]);
    c.handler([start, end, handler], 0);
    ("handlerByFlow", c)
}

/// Local 0 is another one as soon as `this` is on the stack for super(), and again afterwards, as R8 makes of its constructors: 7
/// bytecodes, of which the last throws for x = 3, 4 more, then x rounds of 4, 2 at their end, and 5, of which the third throws
/// for x = 0.
fn reuse_of_this(class: &mut Class, maps: bool) -> Method {
    let mut c = code();
    c.emit(&[ALOAD_0, ILOAD_1, ISTORE_0, IINC, 0, 0xfd, BIPUSH, 12, ILOAD_0, IDIV, POP]);
    call_super(&mut c, class);
    c.emit(&[ILOAD_1, ISTORE_0]);
    let two_integers = |c: &mut Code| {
        if maps {
            c.frame(&[Item::Integer, Item::Integer], &[]);
        }
    };
    let (head, out) = (c.here(), c.label());
    two_integers(&mut c);
    c.emit(&[ILOAD_0]);
    c.jump(IFEQ, out);
    c.emit(&[IINC, 0, 0xff]);
    c.jump(GOTO_W, head);
    c.place(out);
    two_integers(&mut c);
    c.emit(&[BIPUSH, 12, ILOAD_1, IDIV, POP, RETURN]);
    ("<init>", c)
}

/// `<init>(I)V`, which has `this` in another local before `super()`, where its stack map says nothing of local 0, though nobody
/// stores to it: 7 bytecodes if it throws, else 12.
fn forgets_local_0(class: &mut Class) -> Method {
    let mut c = code();
    let zero = c.label();
    c.emit(&[ALOAD_0, ASTORE_2, ILOAD_1]);
    c.jump(IFEQ, zero);
    c.emit(&[IINC, 1, 1]);
    c.place(zero);
    c.frame(&[Item::Top, Item::Integer, Item::UninitializedThis], &[]);
    c.emit(&[ICONST_1, ILOAD_1, IDIV, POP, ALOAD, 2]);
    call_super(&mut c, class);
    c.emit(&[RETURN]);
    ("<init>", c)
}

/// As in [`reuse_of_this`], behind code that nothing leads to, in which `this` is not initialised, with a handler around it: 7
/// bytecodes, of which the last throws for x = 0, and 3.
fn dead_before_super(class: &mut Class) -> Method {
    let mut c = code();
    let throwable = Item::Object(class.pool.class("java/lang/Throwable"));
    const LOCALS: [Item; 2] = [Item::UninitializedThis, Item::Integer];
    let go = c.label();
    c.jump(GOTO_W, go);
    let dead = c.here();
    c.frame(&LOCALS, &[]);
    c.jump(GOTO_W, dead);
    c.place(go);
    c.frame(&LOCALS, &[]);
    c.emit(&[ALOAD_0, ILOAD_1, ISTORE_0, BIPUSH, 12, ILOAD_0, IDIV, POP]);
    call_super(&mut c, class);
    c.emit(&[RETURN]);
    let handler = c.here();
    c.frame(&LOCALS, &[throwable]);
    c.emit(&[ATHROW]);
    c.handler([dead, go, handler], 0);
    ("<init>", c)
}

/// Stores longs to four slots in a row, from its parameter's on: 13 bytecodes, of which the last throws for x = 0, and 6.
fn wide_over_parameters() -> Method {
    let mut c = code();
    let out = c.label();
    c.emit(&[ILOAD_0, LCONST_0, LSTORE_0, LCONST_0, LSTORE_1, LCONST_0, LSTORE_2, LCONST_0, LSTORE_3, ISTORE_0]);
    c.emit(&[BIPUSH, 12, ILOAD_0, IDIV, POP, ILOAD_0]);
    c.jump(IFEQ, out);
    c.emit(&[IINC, 0, 1]);
    c.place(out);
    c.frame(&[Item::Integer], &[]);
    c.emit(&[ILOAD_0, IRETURN]);
    ("wideOverParameters", c)
}

/// Counts its parameter down to 0; the loop's head is bytecode 0. For 5: 4 rounds of 4, 3, and 4.
fn loop_to_start() -> Method {
    let mut c = code();
    let (head, out) = (c.here(), c.label());
    c.emit(&[IINC, 0, 0xff, ILOAD_0]);
    c.jump(IFEQ, out);
    c.jump(GOTO_W, head);
    c.place(out);
    c.emit(&[ILOAD_0, BIPUSH, 9, IADD, IRETURN]);
    ("loopToStart", c)
}

/// Two switches with different padding, cases shared and jumping backwards.
fn first_is_switch() -> Method {
    let mut c = code();
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
    ("firstIsSwitch", c)
}

/// The handler is inside its own range, as javac's are for finally: it throws again while x > 0, and is caught by itself.
fn self_covering() -> Method {
    let mut c = code();
    let (start, out) = (c.here(), c.label());
    c.emit(&[ACONST_NULL, ATHROW]);
    let handler = c.here();
    c.emit(&[POP, IINC, 0, 0xff, ILOAD_0]);
    c.jump(IFLE, out);
    c.emit(&[ACONST_NULL, ATHROW]);
    let end = c.here();
    c.place(out);
    c.emit(&[ILOAD_0, IRETURN]);
    c.handler([start, end, handler], 0);
    ("selfCovering", c)
}

/// `synchronized` as scalac compiles it: the handler that unlocks does not cover itself, and the range ends in front of the
/// unlocking, where two ways meet. 14 bytecodes for even x, 19 for odd, 16 for those that divide by x % 3 = 0.
fn lock(class: &mut Class) -> Method {
    let mut c = code();
    let (even, join) = (c.label(), c.label());
    c.emit_u2(LDC_W, class.pool.class("AssembledMonitors"));
    c.emit(&[DUP, ASTORE_1, MONITORENTER]);
    let start = c.here();
    c.emit(&[ILOAD_0, ICONST_2, IREM]);
    c.jump(IFEQ, even);
    c.emit(&[BIPUSH, 12, ILOAD_0, ICONST_3, IREM, IDIV, ISTORE_2]);
    c.jump(GOTO_W, join);
    c.place(even);
    c.emit(&[ILOAD_0, ISTORE_2]);
    c.place(join);
    c.emit(&[ALOAD_1, MONITOREXIT, ILOAD_2, IRETURN]);
    let handler = c.here();
    c.emit(&[ALOAD_1, MONITOREXIT, ATHROW]);
    c.handler([start, join, handler], 0);
    ("lock", c)
}

/// The handler that unlocks divides before it does so, by x % 3, and is in its own range: an exception for x % 3 = 0 leads into it
/// once more, with another x. 12 bytecodes; or 9 up to the first exception, 7 for each time in the handler, and 3.
fn late_unlock(class: &mut Class) -> Method {
    let mut c = code();
    c.emit_u2(LDC_W, class.pool.class("AssembledMonitors"));
    c.emit(&[DUP, ASTORE_1, MONITORENTER]);
    let start = c.here();
    c.emit(&[BIPUSH, 12, ILOAD_0, ICONST_4, IREM, IDIV, ALOAD_1, MONITOREXIT]);
    let end = c.here();
    c.emit(&[IRETURN]);
    let handler = c.here();
    c.emit(&[POP, IINC, 0, 1, BIPUSH, 12, ILOAD_0, ICONST_3, IREM, IDIV, ALOAD_1, MONITOREXIT]);
    let handled = c.here();
    c.emit(&[IRETURN]);
    c.handler([start, end, handler], 0);
    c.handler([handler, handled, handler], 0);
    ("lateUnlock", c)
}

/// Three rounds over a straight body of about `length` bytes, with a division in the middle that throws for x % 64 = 0 and is
/// caught.
fn huge(name: &'static str, length: usize) -> Method {
    let mut c = code();
    c.emit(&[BIPUSH, 3, ISTORE_1]);
    let (head, out) = (c.here(), c.label());
    while c.len() < length / 2 {
        c.emit(&[IINC, 0, 1]);
    }
    let start = c.here();
    c.emit(&[BIPUSH, 100, ILOAD_0, BIPUSH, 64, IREM, IDIV, POP]);
    let end = c.here();
    c.emit(&[ACONST_NULL]);
    let handler = c.here();
    c.emit(&[POP]);
    while c.len() < length {
        c.emit(&[IINC, 0, 2]);
    }
    c.emit(&[IINC, 1, 0xff, ILOAD_1]);
    c.jump(IFEQ, out);
    c.jump(GOTO_W, head);
    c.place(out);
    c.emit(&[ILOAD_0, IRETURN]);
    c.handler([start, end, handler], 0);
    (name, c)
}
