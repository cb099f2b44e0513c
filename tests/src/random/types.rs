//! What is in locals and on the operand stack, as the JVM's verifier has it.

use crate::assemble::{Item, Label, Pool};
use std::rc::Rc;

/// Classes that all random classes know.
pub mod known {
    #![allow(missing_docs)]
    pub const OBJECT: &str = "java/lang/Object";
    pub const STRING: &str = "java/lang/String";
    pub const THROWABLE: &str = "java/lang/Throwable";
    pub const INTS: &str = "[I";
}

/// The type of a local or an operand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Type {
    /// Nothing that can be used.
    Top,
    /// The second slot of a local that is a `long` or `double`.
    Half,
    /// An `int`.
    Int,
    /// A `float`.
    Float,
    /// A `long`.
    Long,
    /// A `double`.
    Double,
    /// `null`.
    Null,
    /// The address that a subroutine returns to.
    Address,
    /// `this` before `super(...)`.
    This,
    /// What the `new` there has made, of that class, before its constructor.
    New(Label, Rc<str>),
    /// An object of that class, an array by its descriptor, or `null`.
    Object(Rc<str>),
}

impl Type {
    /// An object of a class.
    pub fn object(class: &str) -> Type {
        Type::Object(class.into())
    }

    /// Takes two slots.
    pub fn is_wide(&self) -> bool {
        matches!(self, Type::Long | Type::Double)
    }

    /// Slots it takes.
    pub fn slots(&self) -> u16 {
        if self.is_wide() { 2 } else { 1 }
    }

    /// An object whose constructor has not been called.
    pub fn is_raw(&self) -> bool {
        matches!(self, Type::This | Type::New(..))
    }

    /// Where `to` is expected, it may be.
    pub fn fits(&self, to: &Type) -> bool {
        match (self, to) {
            (_, Type::Top) | (Type::Null, Type::Object(_)) => true,
            (Type::Object(_), Type::Object(class)) if &**class == known::OBJECT => true,
            _ => self == to,
        }
    }

    /// In a descriptor.
    pub fn descriptor(&self) -> String {
        match self {
            Type::Int => "I".into(),
            Type::Float => "F".into(),
            Type::Long => "J".into(),
            Type::Double => "D".into(),
            Type::Object(array) if array.starts_with('[') => array.to_string(),
            Type::Object(class) => format!("L{class};"),
            other => panic!("{other:?} is in no descriptor"),
        }
    }

    /// In a stack map.
    fn item(&self, pool: &mut Pool) -> Item {
        match self {
            Type::Top | Type::Half | Type::Address => Item::Top,
            Type::Int => Item::Integer,
            Type::Float => Item::Float,
            Type::Long => Item::Long,
            Type::Double => Item::Double,
            Type::Null => Item::Null,
            Type::This => Item::UninitializedThis,
            Type::New(label, _) => Item::Uninitialized(*label),
            Type::Object(class) => Item::Object(pool.class(class)),
        }
    }
}

/// The locals, slot by slot, and the stack, a `long` or `double` being one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct State {
    /// By slot.
    pub locals: Vec<Type>,
    /// The top is the last.
    pub stack: Vec<Type>,
}

impl State {
    /// No local can be used, and nothing is on the stack.
    pub fn empty(locals: u16) -> State {
        State { locals: vec![Type::Top; locals.into()], stack: Vec::new() }
    }

    /// Stores to a local; half a value that is overwritten cannot be used any more.
    pub fn set(&mut self, slot: u16, to: Type) {
        let slot = usize::from(slot);
        for at in slot..slot + usize::from(to.slots()) {
            if self.locals[at] == Type::Half {
                self.locals[at - 1] = Type::Top;
            }
            if self.locals[at].is_wide() {
                self.locals[at + 1] = Type::Top;
            }
            self.locals[at] = Type::Half;
        }
        self.locals[slot] = to;
    }

    /// Slots that the stack takes.
    pub fn height(&self) -> u16 {
        self.stack.iter().map(Type::slots).sum()
    }

    /// The constructor of what was `from` has returned.
    pub fn initialise(&mut self, from: &Type, class: &str) {
        for one in self.locals.iter_mut().chain(&mut self.stack).filter(|one| *one == from) {
            *one = Type::object(class);
        }
    }

    /// What is certain after either of two ways to a place. On the stack they have the same.
    pub fn meet(&self, other: &State) -> State {
        let mut both = self.clone();
        for (at, (mine, theirs)) in self.locals.iter().zip(&other.locals).enumerate() {
            let same = mine == theirs && (*mine != Type::Half || self.locals[at - 1] == other.locals[at - 1]);
            // A half whose other half differs goes with it.
            if !same {
                both.locals[at] = Type::Top;
            }
        }
        for at in 0..both.locals.len() {
            if both.locals[at].is_wide() && both.locals.get(at + 1) != Some(&Type::Half) {
                both.locals[at] = Type::Top;
            }
        }
        both
    }

    /// Whether control may go from here to where `to` is expected.
    pub fn fits(&self, to: &State) -> bool {
        let all = |mine: &[Type], theirs: &[Type]| mine.len() == theirs.len() && mine.iter().zip(theirs).all(|(m, t)| m.fits(t));
        all(&self.locals, &to.locals) && all(&self.stack, &to.stack)
    }

    /// As an entry of the stack map: locals, stack.
    pub fn items(&self, pool: &mut Pool) -> (Vec<Item>, Vec<Item>) {
        let used = self.locals.iter().rposition(|local| !matches!(local, Type::Top | Type::Address)).map_or(0, |last| last + 1);
        let mut locals = Vec::new();
        for (at, local) in self.locals[..used].iter().enumerate() {
            // The second half is told by the first.
            if *local == Type::Half && self.locals[at - 1].is_wide() {
                continue;
            }
            locals.push(local.item(pool));
        }
        (locals, self.stack.iter().map(|one| one.item(pool)).collect())
    }
}
