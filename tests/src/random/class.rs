//! The class files of a seed.

use super::method;
use super::plan::{BASE, Declared, FIELDS, Kind, Plan, RUN};
use super::splitmix::Random;
use super::typed::Typed;
use super::types::{State, Type, known};
use crate::assemble::op::*;
use crate::assemble::{Class, access};

/// How often the driver calls each method.
const ROUNDS: i32 = 12;
/// Calls of random methods that one of the driver's may lead to, not to speak of those that return at once.
const CALLS: i32 = 20;

/// The class files of a seed: names and bytes. The first has `main`, and `measured`, which calls every method; with an argument,
/// `main` calls it by `again`.
pub fn classes(seed: u64, links: bool) -> Vec<(String, Vec<u8>)> {
    let mut random = Random::new(seed);
    let plan = Plan::new(seed, links, &mut random);
    let mut files = vec![(plan.driver.clone(), driver(&plan, &mut random))];
    for class in 0..plan.classes.len() {
        files.push((plan.classes[class].name.to_string(), random_class(&plan, class, &mut random)));
    }
    files.push((plan.failing.to_string(), failing(&plan, &mut random)));
    files
}

/// A method that is not random, being written into a class with stack maps.
fn plain<'c>(class: &'c mut Class, locals: &[Type]) -> Typed<'c> {
    let locals = locals.iter().flat_map(|local| std::iter::once(local.clone()).chain(local.is_wide().then_some(Type::Half)));
    Typed::new(class, true, State { locals: locals.collect(), stack: Vec::new() })
}

/// One of the plan's classes, with all methods that the plan has for it.
fn random_class(plan: &Plan, number: usize, random: &mut Random) -> Vec<u8> {
    let planned = &plan.classes[number];
    let more = if planned.is_interface { access::INTERFACE | access::ABSTRACT } else { 0 };
    let mut class = Class::new(planned.version, more, &planned.name, &planned.parent);
    if !planned.is_interface {
        class.field(access::PUBLIC | access::STATIC, "self", &Type::Object(planned.name.clone()).descriptor());
        initialiser(plan, number, &mut class);
        constructor(&planned.parent, &planned.name, &mut class);
    }
    if number == FIELDS {
        class.implements(&plan.interface().name);
        for (access, name, descriptor) in [
            (access::STATIC, "number", "I"),
            (access::STATIC, "large", "J"),
            (0, "own", "I"),
            (0, "object", "Ljava/lang/Object;"),
        ] {
            class.field(access::PUBLIC | access, name, descriptor);
        }
    }
    for (at, declared) in plan.methods.iter().enumerate().filter(|(_, m)| m.class == number) {
        let code = method::generate(random, plan, at, &mut class);
        let mut flags = match declared.kind {
            Kind::Static => access::PUBLIC | access::STATIC,
            Kind::Private => access::PRIVATE,
            Kind::Virtual | Kind::Constructor => access::PUBLIC,
        };
        if declared.is_synchronized {
            flags |= access::SYNCHRONIZED;
        }
        class.method(flags, &declared.name, &declared.descriptor(), code);
    }
    class.finish()
}

/// `static { self = new ThisClass(); }`, and that of class 0 becomes an object of a subclass of it.
fn initialiser(plan: &Plan, number: usize, class: &mut Class) {
    let name = &plan.classes[number].name;
    let mut out = plain(class, &[]);
    let raw = out.new_twice(name);
    out.construct(name, "()V", 0, &raw, name);
    out.op(DUP, 0, &[Type::Object(name.clone())]);
    out.put_static(name, "self", &Type::Object(name.clone()));
    if number == FIELDS {
        out.pop();
    } else {
        let fields = &plan.classes[FIELDS].name;
        out.put_static(fields, "self", &Type::Object(fields.clone()));
    }
    out.op(RETURN, 0, &[]);
    let code = out.code;
    class.method(access::STATIC, "<clinit>", "()V", code);
}

/// `ThisClass() { super(…); }`
fn constructor(parent: &str, name: &str, class: &mut Class) {
    let mut out = plain(class, &[Type::This]);
    out.load(0, true);
    if parent == BASE {
        out.int(1);
        out.construct(parent, "(I)V", 1, &Type::This, name);
    } else {
        out.construct(parent, "()V", 0, &Type::This, name);
    }
    out.op(RETURN, 0, &[]);
    let code = out.code;
    class.method(access::PUBLIC, "<init>", "()V", code);
}

/// A class whose initialiser throws, always.
fn failing(plan: &Plan, random: &mut Random) -> Vec<u8> {
    let mut class = Class::new(52, 0, &plan.failing, known::OBJECT);
    class.field(access::PUBLIC | access::STATIC, "number", "I");
    let mut out = plain(&mut class, &[]);
    match random.below(3) {
        0 => {
            out.int(7);
            out.int(0);
            out.op(IDIV, 2, &[Type::Int]);
        }
        1 => {
            out.int(0);
            out.call_static(RUN, "odd", &[Type::Int], &Type::Int);
        }
        _ => {
            out.get_static(RUN, "error", &Type::object("java/lang/Error"));
            out.op(ATHROW, 1, &[]);
        }
    }
    if !out.state.stack.is_empty() {
        out.put_static(&plan.failing, "number", &Type::Int);
        out.op(RETURN, 0, &[]);
    }
    let code = out.code;
    class.method(access::STATIC, "<clinit>", "()V", code);
    let mut out = plain(&mut class, &[Type::Int]);
    out.load(0, true);
    out.op(IRETURN, 1, &[]);
    let code = out.code;
    class.method(access::PUBLIC | access::STATIC, "same", "(I)I", code);
    class.finish()
}

/// The class with `main`, `again` and `measured`.
fn driver(plan: &Plan, random: &mut Random) -> Vec<u8> {
    let mut class = Class::new(61, 0, &plan.driver, known::OBJECT);
    let names: Vec<&str> = plan.classes.iter().map(|class| &*class.name).chain([&*plan.failing]).collect();
    let string = Type::object(known::STRING);
    let mut out = plain(&mut class, &[Type::object("[Ljava/lang/String;")]);
    out.string(&names.join(" "));
    out.call_static(RUN, "begin", std::slice::from_ref(&string), &Type::Int);
    out.pop();
    out.string(&plan.driver);
    let (again, end) = (out.code.label(), out.code.label());
    out.load(0, true);
    out.op(ARRAYLENGTH, 1, &[Type::Int]);
    out.jump(IFNE, 1, again);
    let state = out.state.clone();
    out.call_static(&plan.driver, "measured", &[], &Type::Int);
    out.jump(GOTO, 0, end);
    let answered = out.state.clone();
    out.join(again, state);
    out.call_static(&plan.driver, "again", &[], &Type::Int);
    out.join(end, answered);
    out.call_static(RUN, "end", &[string, Type::Int], &Type::Int);
    out.pop();
    out.op(RETURN, 0, &[]);
    let code = out.code;
    class.method(access::PUBLIC | access::STATIC, "main", "([Ljava/lang/String;)V", code);
    let mut out = plain(&mut class, &[]);
    out.call_static(&plan.driver, "measured", &[], &Type::Int);
    out.op(IRETURN, 1, &[]);
    let code = out.code;
    class.method(access::STATIC, "again", "()I", code);
    measured(plan, random, &mut class);
    class.finish()
}

/// The locals of `measured`.
const SUM: u16 = 0;
const ROUND: u16 = 1;

/// Calls every method that is not private, again and again, whatever they throw; what they answer comes into a sum.
fn measured(plan: &Plan, random: &mut Random, class: &mut Class) {
    let mut out = plain(class, &[Type::Top, Type::Top]);
    out.int(0);
    out.store(SUM, true);
    out.int(ROUNDS);
    out.store(ROUND, true);
    let head = out.code.label();
    let state = out.state.clone();
    out.join(head, state.clone());
    for callee in plan.methods.iter().filter(|callee| callee.kind != Kind::Private) {
        let (start, end) = (out.code.label(), out.code.label());
        let (handler, next) = (out.code.label(), out.code.label());
        out.int(CALLS);
        out.put_static(RUN, "fuel", &Type::Int);
        out.code.place(start);
        call(plan, callee, random, &mut out);
        out.code.place(end);
        out.jump(GOTO, 0, next);
        let mut caught = state.clone();
        caught.stack.push(Type::object(known::THROWABLE));
        out.join(handler, caught);
        out.call_static(RUN, "note", &[Type::object(known::THROWABLE)], &Type::Int);
        // sum, caught
        let mut answered = state.clone();
        answered.stack.push(Type::Int);
        out.join(next, answered);
        out.load(SUM, true);
        out.int(31);
        out.op(IMUL, 2, &[Type::Int]);
        out.op(IADD, 2, &[Type::Int]);
        out.store(SUM, true);
        out.code.handler([start, end, handler], 0);
    }
    out.code.increment(ROUND, -1);
    out.load(ROUND, true);
    let over = out.code.label();
    out.jump(IFEQ, 1, over);
    out.jump(GOTO_W, 0, head);
    out.join(over, state);
    out.load(SUM, true);
    out.op(IRETURN, 1, &[]);
    let code = out.code;
    class.method(access::PUBLIC | access::STATIC, "measured", "()I", code);
}

/// Calls a method and makes an `int` of what it answers.
fn call(plan: &Plan, callee: &Declared, random: &mut Random, out: &mut Typed<'_>) {
    let class = &plan.classes[callee.class];
    let receiver = if class.is_interface { &plan.classes[FIELDS].name } else { &class.name };
    let raw = match callee.kind {
        Kind::Constructor => Some(out.new_twice(&class.name)),
        Kind::Static => None,
        _ => {
            out.get_static(receiver, "self", &Type::Object(receiver.clone()));
            None
        }
    };
    // More fuel in some rounds than in others.
    out.load(ROUND, true);
    out.int(3);
    out.op(IAND, 2, &[Type::Int]);
    out.int(4 + random.below(8) as i32);
    out.op(IADD, 2, &[Type::Int]);
    for parameter in &callee.parameters[1..] {
        match parameter {
            Type::Int => {
                // Another one in every round.
                out.load(ROUND, true);
            }
            Type::Long => out.op(LCONST_0 + random.below(2) as u8, 0, &[Type::Long]),
            Type::Float => out.op(FCONST_2, 0, &[Type::Float]),
            Type::Double => out.op(DCONST_1, 0, &[Type::Double]),
            Type::Object(class) if &**class == known::INTS => out.ints(3),
            _ => out.string("driver"),
        }
    }
    let descriptor = callee.descriptor();
    let arguments = callee.parameters.len();
    if let Some(raw) = raw {
        out.construct(&class.name, &descriptor, arguments, &raw, &class.name);
        out.pop();
        out.int(1);
        return;
    }
    let pool = &mut out.class.pool;
    let method = match class.is_interface {
        true => pool.interface_method(&class.name, &callee.name, &descriptor),
        false => pool.method(&class.name, &callee.name, &descriptor),
    };
    let opcode = match callee.kind {
        Kind::Static => INVOKESTATIC,
        _ if class.is_interface => INVOKEINTERFACE,
        _ => INVOKEVIRTUAL,
    };
    out.invoke(opcode, method, callee);
    match &callee.result {
        Some(Type::Int) => {}
        Some(Type::Long) => out.op(L2I, 1, &[Type::Int]),
        Some(Type::Float) => out.op(F2I, 1, &[Type::Int]),
        Some(Type::Double) => out.op(D2I, 1, &[Type::Int]),
        Some(_) => {
            out.pop();
            out.int(2);
        }
        None => out.int(3),
    }
}
