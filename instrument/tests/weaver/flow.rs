//! Blocks, edges, and what counts as throwing, on small methods.

use cprof_instrument::classfile::{ClassFile, Error};
use cprof_instrument::flow::{Graph, mark};
use cprof_instrument::{EdgeKind, Plan};

use crate::support::assembler::{Class, Code};

/// A class `T` extends `S` with one method, analysed.
fn analyse(access: u16, name: &str, build: impl FnOnce(&mut Code, &mut Class)) -> Result<(Graph, Plan), Error> {
    let mut class = Class::new(52, "T", "S");
    class.field(8, "counter", "I");
    class.field(0, "value", "I");
    class.field(0, "wide", "J");
    let mut code = Code::new(8, 8);
    build(&mut code, &mut class);
    class.method(access, name, "(I)V", &code).expect("it fits");
    let bytes = class.finish();
    let class = ClassFile::parse(&bytes).expect("well-formed");
    let method = &class.methods[0];
    let code = class.code(method)?.expect("code");
    let mut graph = Graph::default();
    graph.analyse(&class, method, &code)?;
    Ok((graph, cprof_instrument::plan(&class, method)?.expect("code")))
}

const STATIC: u16 = 8;

#[test]
fn a_loop_has_three_blocks_and_one_counter_besides_the_calls() {
    let (graph, plan) = analyse(STATIC, "m", |code, _| {
        let (head, out) = (code.label(), code.label());
        code.place(head).put(&[26]).jump(158, out); // while (i > 0)
        code.iinc(0, -1).jump(167, head); // i--
        code.place(out).put(&[177]);
    })
    .expect("well-formed");
    let bounds: Vec<_> = graph.blocks.iter().map(|b| (b.start, b.end)).collect();
    assert_eq!(bounds, [(0, 4), (4, 10), (10, 11)]);
    let edges: Vec<_> = plan.edges.iter().map(|e| (e.from, e.to, e.kind)).collect();
    assert_eq!(
        edges,
        [
            (3, 0, EdgeKind::Entry),
            (0, 2, EdgeKind::Taken),
            (0, 1, EdgeKind::Fall),
            (1, 0, EdgeKind::Taken),
            (2, 3, EdgeKind::Return),
        ]
    );
    assert_eq!(plan.counters, 2);
    assert!(plan.leaf);
}

#[test]
fn switch_cases_with_one_target_are_one_edge() {
    let (_, plan) = analyse(STATIC, "m", |code, _| {
        let (a, b) = (code.label(), code.label());
        code.put(&[26]).tableswitch(0, a, &[a, b, a, b]);
        code.place(a).put(&[177]).place(b).put(&[177]);
    })
    .expect("well-formed");
    assert_eq!(plan.edges.iter().filter(|e| e.kind == EdgeKind::Case).count(), 2);
}

/// Whether the last instruction before the return may throw.
fn throws(access: u16, build: impl FnOnce(&mut Code, &mut Class)) -> bool {
    let mut last = 0;
    let (graph, plan) = analyse(access, "m", |code, class| {
        build(code, class);
        last = code.bytes.len() - 1;
        code.put(&[177]);
    })
    .expect("well-formed");
    let bci = (0..=last).rev().find(|&bci| graph.marks[bci] & mark::START != 0).expect("an instruction");
    assert_eq!(plan.leaf, graph.marks.iter().all(|m| m & mark::THROWS == 0), "a leaf is what never throws");
    graph.marks[bci] & mark::THROWS != 0
}

fn field(code: &mut Code, class: &mut Class, opcode: u8, owner: &str, name: &str, descriptor: &str) {
    let index = class.pool.field(owner, name, descriptor);
    code.put_u2(opcode, index);
}

const GETSTATIC: u8 = 178;
const GETFIELD: u8 = 180;
const PUTFIELD: u8 = 181;

#[test]
fn own_static_fields_do_not_throw() {
    assert!(!throws(STATIC, |code, class| field(code, class, GETSTATIC, "T", "counter", "I")));
    // Another class has to be initialised first.
    assert!(throws(STATIC, |code, class| field(code, class, GETSTATIC, "S", "counter", "I")));
    // Not declared here: inherited, maybe from an interface that has to be initialised first.
    assert!(throws(STATIC, |code, class| field(code, class, GETSTATIC, "T", "inherited", "I")));
    // Declared, but not static: IncompatibleClassChangeError.
    assert!(throws(STATIC, |code, class| field(code, class, GETSTATIC, "T", "value", "I")));
    // A class's method runs when the class is initialised, or being so; that of an object with an interface may run before.
    let of = |access, method| {
        throws(method, move |code, class| {
            class.access = access;
            field(code, class, GETSTATIC, "T", "counter", "I");
        })
    };
    let (class, interface) = (0x21, 0x601);
    assert_eq!([of(class, 0), of(interface, STATIC), of(interface, 0)], [false, false, true]);
}

#[test]
fn fields_of_this_do_not_throw() {
    let get = |pushes: &'static [u8], access| {
        throws(access, move |code, class| {
            code.put(pushes);
            field(code, class, GETFIELD, "T", "value", "I");
        })
    };
    assert!(!get(&[42], 0)); // aload_0
    assert!(!get(&[25, 0], 0)); // aload 0
    assert!(!get(&[42, 89], 0)); // aload_0, dup
    assert!(!get(&[42, 42, 87], 0)); // aload_0, aload_0, pop
    assert!(get(&[43], 0)); // aload_1 may be null
    assert!(get(&[1, 42, 95], 0)); // aconst_null, aload_0, swap: null is on top
    assert!(get(&[42, 1], 0)); // null is on top
    assert!(get(&[42, 1, 89, 87], 0)); // aload_0, aconst_null, dup, pop: likewise
    assert!(get(&[42], STATIC)); // local 0 of a static method is a parameter
    assert!(get(&[1, 75, 42], 0)); // local 0 was overwritten

    let put = |pushes: &'static [u8], name: &'static str, descriptor: &'static str| {
        throws(0, move |code, class| {
            code.put(pushes);
            field(code, class, PUTFIELD, "T", name, descriptor);
        })
    };
    assert!(!put(&[42, 27], "value", "I")); // this.value = parameter
    assert!(!put(&[42, 27, 4, 96], "value", "I")); // this.value = parameter + 1
    assert!(!put(&[42, 10], "wide", "J")); // this.wide = 1L
    assert!(put(&[1, 42, 27, 95, 87], "value", "I")); // null.value = parameter, after some swapping
    assert!(put(&[1, 27], "value", "I"));
}

#[test]
fn what_is_known_of_the_stack_ends_with_the_block() {
    // A null comes by a jump where `this` falls in.
    assert!(throws(0, |code, class| {
        let (other, join) = (code.label(), code.label());
        code.put(&[27]).jump(153, other);
        code.put(&[1]).jump(167, join);
        code.place(other).put(&[42]);
        code.place(join);
        field(code, class, GETFIELD, "T", "value", "I");
    }));
}

#[test]
fn division_by_a_constant_does_not_throw() {
    assert!(!throws(STATIC, |code, _| {
        // i / 2
        code.put(&[26, 5, 108]);
    }));
    assert!(throws(STATIC, |code, _| {
        // i / 0
        code.put(&[26, 3, 108]);
    }));
    assert!(throws(STATIC, |code, _| {
        // i / i
        code.put(&[26, 26, 108]);
    }));
    assert!(throws(STATIC, |code, _| {
        // i % 0
        code.put(&[26, 16, 0, 112]);
    }));
    assert!(!throws(STATIC, |code, class| {
        let index = class.pool.integer(100_000);
        code.put(&[26]).put_u2(19, index).put(&[112]);
    }));
}

#[test]
fn constants_throw_only_if_a_class_must_be_resolved() {
    assert!(!throws(STATIC, |code, class| {
        code.put_u2(19, class.pool.string("text"));
    }));
    assert!(!throws(STATIC, |code, class| {
        code.put_u2(20, class.pool.long(1 << 40));
    }));
    assert!(throws(STATIC, |code, class| {
        code.put_u2(19, class.pool.class("T"));
    }));
}

#[test]
fn an_object_that_an_exception_leaves_unfinished_is_not_the_constructors_own() {
    // As Kotlin has it: super(x ?: S(fail())), where fail() never returns.
    let mut call = 0;
    let (graph, _) = analyse(0, "<init>", |code, class| {
        let other = class.pool.class("S");
        let (fail, constructor) =
            (class.pool.method("T", "fail", "()Ljava/lang/Throwable;"), class.pool.method("S", "<init>", "(LS;)V"));
        let given = code.label();
        code.put(&[42, 43, 89]).jump(199, given).put(&[87]); // aload_0, aload_1, dup, ifnonnull, pop
        code.put_u2(187, other).put(&[89]).put_u2(184, fail).put(&[191]); // new S, dup, fail(), athrow
        code.place(given);
        call = code.bytes.len();
        code.put_u2(183, constructor).put(&[177]);
    })
    .expect("well-formed");
    let marked: Vec<_> = (0..graph.marks.len()).filter(|&bci| graph.marks[bci] & mark::SUPER_CALL != 0).collect();
    assert_eq!(marked, [call]);
}

#[test]
fn the_super_call_is_the_one_that_this_gets_to() {
    let marked = |build: &dyn Fn(&mut Code, &mut Class) -> usize| {
        let mut call = 0;
        let (graph, _) = analyse(0, "<init>", |code, class| call = build(code, class)).expect("well-formed");
        let marked: Vec<_> = (0..graph.marks.len()).filter(|&bci| graph.marks[bci] & mark::SUPER_CALL != 0).collect();
        assert_eq!(marked, [call]);
    };
    // An <init> in front of the `new` that it finishes.
    marked(&|code, class| {
        let (other, constructor) = (class.pool.class("S"), class.pool.method("S", "<init>", "()V"));
        let (begin, finish) = (code.label(), code.label());
        code.jump(167, begin).place(finish).put_u2(183, constructor).put(&[87, 42]); // goto, <init>, pop, aload_0
        let call = code.bytes.len();
        code.put_u2(183, constructor).put(&[177]).place(begin).put_u2(187, other).put(&[89, 89]).jump(167, finish);
        call
    });
    // An object that nobody finishes.
    marked(&|code, class| {
        let (other, constructor) = (class.pool.class("S"), class.pool.method("S", "<init>", "()V"));
        code.put_u2(187, other).put(&[87, 42]); // new S, pop, aload_0
        let call = code.bytes.len();
        code.put_u2(183, constructor).put(&[177]);
        call
    });
    // As Groovy has it, which chooses among constructors when it runs.
    marked(&|code, class| {
        let (other, constructor) = (class.pool.class("S"), class.pool.method("S", "<init>", "(I)V"));
        code.put(&[42, 27, 95, 90, 95]); // aload_0, iload_1, swap, dup_x1, swap: this, this, the int
        code.put_u2(187, other).put(&[87]);
        let call = code.bytes.len();
        code.put_u2(183, constructor).put(&[87, 177]);
        call
    });
    // `this` by way of another local, in a handler that begins with a new object on the way to it.
    marked(&|code, class| {
        let (other, constructor) = (class.pool.class("S"), class.pool.method("S", "<init>", "()V"));
        let fail = class.pool.method("T", "fail", "()V");
        code.put(&[42, 76]); // aload_0, astore_1
        let from = code.here();
        code.put_u2(184, fail).put(&[1, 191]); // fail(), aconst_null, athrow
        let handler = code.here();
        code.handler(from, handler, handler, 0).put_u2(187, other).put(&[89]).put_u2(183, constructor).put(&[87, 43]);
        let call = code.bytes.len();
        code.put_u2(183, constructor).put(&[177]);
        call
    });
}

#[test]
fn only_the_constructors_own_call_is_its_super_call() {
    let mut calls = Vec::new();
    let (graph, plan) = analyse(0, "<init>", |code, class| {
        let own = class.pool.class("T");
        let constructors = ["T", "S", "X"].map(|name| class.pool.method(name, "<init>", "()V"));
        // A dead `new X` that nobody finishes does not confuse the matter.
        let other = class.pool.class("X");
        code.put_u2(187, other).put(&[87]);
        code.put(&[42]);
        for constructor in [constructors[2], constructors[0]] {
            code.put_u2(187, if constructor == constructors[2] { other } else { own }).put(&[89]);
            code.put_u2(183, constructor).put(&[87]);
        }
        calls.push(code.bytes.len());
        code.put_u2(183, constructors[1]).put(&[177]);
    })
    .expect("well-formed");
    let marked: Vec<_> = (0..graph.marks.len()).filter(|&bci| graph.marks[bci] & mark::SUPER_CALL != 0).collect();
    assert_eq!(marked, calls);
    assert_eq!(graph.blocks.iter().map(|b| b.uninitialised).collect::<Vec<_>>(), [true, false]);
    assert_eq!(plan.edges.iter().filter(|e| e.kind == EdgeKind::SuperThrow).count(), 1);
}

#[test]
fn a_constructor_may_take_this_out_of_local_0_before_super() {
    let graph_with = |between: &[u8]| {
        let built = analyse(0, "<init>", |code, class| {
            let constructor = class.pool.method("S", "<init>", "()V");
            code.put(&[42, 3, 59]).put(between); // aload_0, iconst_0, istore_0
            code.put_u2(183, constructor).put(&[3, 59, 177]);
        });
        built.expect("well-formed").0
    };
    let before = graph_with(&[4, 26, 108, 87]); // iconst_1, iload_0, idiv, pop
    assert!(before.overwrites_this);
    assert_eq!(before.blocks.iter().map(|b| before.ends_in_super(b)).collect::<Vec<_>>(), [true, false]);
    let after = analyse(0, "<init>", |code, class| {
        let constructor = class.pool.method("S", "<init>", "()V");
        code.put(&[42]).put_u2(183, constructor).put(&[3, 59, 177]); // aload_0, super(), iconst_0, istore_0, return
    });
    assert!(!after.expect("well-formed").0.overwrites_this);
}

#[test]
fn malformed_code_is_refused_with_its_place() {
    let refused = |build: &dyn Fn(&mut Code)| {
        analyse(STATIC, "m", |code, _| build(code)).err().map(|error| error.what).expect("malformed code")
    };
    let malformed: [(&[u8], &str); 5] = [
        (&[0], "code that runs off its end"),
        (&[202], "unknown opcode"),
        (&[17, 0], "an instruction cut short"),
        (&[167, 0, 1, 177], "a jump or handler that leads into an instruction"),
        (&[167, 0x7F, 0xFF, 177], "a jump out of the method"),
    ];
    for (bytes, what) in malformed {
        assert_eq!(refused(&|code| _ = code.put(bytes)), what);
    }
    for start_inside in [true, false] {
        let what = refused(&|code| {
            let start = code.here();
            code.put(&[17, 0]);
            let inside = code.here();
            code.put(&[0, 87]);
            let end = code.here();
            code.put(&[177]);
            let (start, end) = if start_inside { (inside, end) } else { (start, inside) };
            code.handler(start, end, end, 0);
        });
        assert_eq!(what, "an exception range that begins or ends inside an instruction");
    }
}
