//! Which classes and methods there are: what their code, written later, may call.

use super::splitmix::Random;
use super::types::{Type, known};
use std::rc::Rc;

/// The class in `programs/random` that all of them use.
pub const RUN: &str = "RandomRun";
/// Its exception.
pub const FAILURE: &str = "RandomRun$Failure";
/// Its class with a constructor `(I)V` that throws for a quarter of all arguments.
pub const BASE: &str = "RandomRun$Base";

/// How a method is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Without an object.
    Static,
    /// With one; in an interface it is a default method.
    Virtual,
    /// From its class alone.
    Private,
    /// On an object that is not initialised.
    Constructor,
}

/// A class.
#[derive(Debug)]
pub struct Planned {
    /// Its name.
    pub name: Rc<str>,
    /// Its superclass.
    pub parent: Rc<str>,
    /// Of its class file.
    pub version: u16,
    /// Whether its class file has stack maps.
    pub maps: bool,
    /// Whether it is an interface.
    pub is_interface: bool,
}

/// A method.
#[derive(Debug)]
pub struct Declared {
    /// Number of its class.
    pub class: usize,
    /// Its name.
    pub name: String,
    /// The first is its fuel, an `int`.
    pub parameters: Vec<Type>,
    /// `None`: `void`.
    pub result: Option<Type>,
    /// How it is called.
    pub kind: Kind,
    /// Whether it is `synchronized`.
    pub is_synchronized: bool,
    /// Whether nothing in it throws, calls, or makes the JVM run other code.
    pub is_quiet: bool,
}

impl Declared {
    /// Its descriptor.
    pub fn descriptor(&self) -> String {
        let parameters: String = self.parameters.iter().map(Type::descriptor).collect();
        format!("({parameters}){}", self.result.as_ref().map_or("V".into(), Type::descriptor))
    }

    /// Slots of its parameters, `this` included.
    pub fn slots(&self) -> u16 {
        u16::from(self.kind != Kind::Static) + self.parameters.iter().map(Type::slots).sum::<u16>()
    }
}

/// All classes and methods of a seed.
#[derive(Debug)]
pub struct Plan {
    /// The class that runs them: `Random7` for seed 7.
    pub driver: String,
    /// Class 0 has the fields; class 1 extends it; class 2 is an interface that class 0 implements.
    pub classes: Vec<Planned>,
    /// Constructors call those of larger numbers only, so that they come to an end.
    pub methods: Vec<Declared>,
    /// A class whose initialiser fails.
    pub failing: Rc<str>,
    /// Whether there are constants and call sites that are linked when they are executed.
    pub links: bool,
}

/// Versions of class files, and whether they have stack maps: of 50 they may.
const VERSIONS: [(u16, bool); 6] = [(49, false), (50, false), (50, true), (52, true), (55, true), (61, true)];
/// Of those, the first that may have methods in interfaces.
const DEFAULTS: usize = 3;

/// Class 0.
pub const FIELDS: usize = 0;
const SUBCLASS: usize = 1;
const INTERFACE: usize = 2;

impl Plan {
    /// What there is for a seed.
    pub fn new(seed: u64, links: bool, random: &mut Random) -> Plan {
        let name = |suffix: &str| -> Rc<str> { format!("Random{seed}{suffix}").into() };
        let mut class = |name: Rc<str>, parent: &str, versions: &[(u16, bool)], is_interface| {
            let &(version, maps) = random.pick(versions);
            Planned { name, parent: parent.into(), version, maps, is_interface }
        };
        let parent = if seed.is_multiple_of(2) { BASE } else { known::OBJECT };
        let classes = vec![
            class(name("A"), parent, &VERSIONS, false),
            class(name("B"), &name("A"), &VERSIONS, false),
            class(name("I"), known::OBJECT, &VERSIONS[DEFAULTS..], true),
        ];
        let mut plan = Plan { driver: format!("Random{seed}"), classes, methods: Vec::new(), failing: name("F"), links };
        // Those of the subclass come first: its constructors call those of class 0.
        for (class, count) in [(SUBCLASS, 4), (FIELDS, 8), (INTERFACE, 2)] {
            for _ in 0..count {
                let method = plan.method(class, random);
                plan.methods.push(method);
            }
        }
        plan
    }

    /// The interface that class 0 implements.
    pub fn interface(&self) -> &Planned {
        &self.classes[INTERFACE]
    }

    fn method(&self, class: usize, random: &mut Random) -> Declared {
        let is_interface = self.classes[class].is_interface;
        let kind = match random.below(10) {
            0..=3 => Kind::Static,
            4..=5 => Kind::Virtual,
            6 => Kind::Private,
            _ if is_interface => Kind::Virtual,
            _ => Kind::Constructor,
        };
        let number = self.methods.len();
        let is_constructor = kind == Kind::Constructor;
        let name = if is_constructor { "<init>".to_owned() } else { format!("m{number}") };
        let mut parameters = vec![Type::Int];
        parameters.extend((0..random.below(4)).map(|_| some_type(random)));
        let result = (!is_constructor && random.percent(85)).then(|| some_type(random));
        let is_quiet = !is_constructor && random.percent(15);
        let is_synchronized = !is_constructor && !is_interface && random.percent(15);
        let mut method = Declared { class, name, parameters, result, kind, is_synchronized, is_quiet };
        // One that another class has, too.
        if kind == Kind::Virtual
            && random.percent(50)
            && let Some(other) = self.methods.iter().find(|m| m.kind == kind && m.class != class)
        {
            method.name.clone_from(&other.name);
            method.parameters.clone_from(&other.parameters);
            method.result.clone_from(&other.result);
        }
        let is_known = |method: &Declared| {
            let is_same = |m: &&Declared| m.name == method.name && m.descriptor() == method.descriptor();
            self.methods.iter().filter(is_same).any(|m| m.class == class)
        };
        while is_known(&method) {
            // Of constructors, the parameters tell which is which.
            if is_constructor {
                method.parameters.push(Type::Int);
            } else {
                method.name = format!("m{number}");
            }
        }
        method
    }
}

/// A type that parameters, results, locals and operands may have.
pub fn some_type(random: &mut Random) -> Type {
    match random.below(10) {
        0..=2 => Type::Int,
        3..=4 => Type::Long,
        5 => Type::Double,
        6 => Type::Float,
        7 => Type::object(known::STRING),
        8 => Type::object(known::INTS),
        _ => Type::object(known::OBJECT),
    }
}
