//! How many objects and arrays of which type bytecodes have made.

use crate::disassemble::element;
use crate::method::{Choice, for_each_counted, shown};
use cprof_instrument::Error;
use cprof_instrument::classfile::ClassFile;
use cprof_instrument::classfile::instructions::Instruction;
use cprof_instrument::classfile::opcode::op;
use cprof_profile::code::CodeError;
use cprof_profile::cycles::EvaluateError;
use cprof_profile::model::Class;
use cprof_profile::names::{self, stable};
use std::collections::BTreeMap;

/// Native methods that are there to make an object or array: class, name.
const MAKERS: [(&str, &str); 6] = [
    ("java/lang/Object", "clone"),
    ("java/lang/reflect/Array", "newArray"),
    ("java/lang/reflect/Array", "multiNewArray"),
    ("jdk/internal/misc/Unsafe", "allocateInstance"),
    // Constructors called by reflection: JDK 17, and since 18 where method handles are not ready.
    ("jdk/internal/reflect/NativeConstructorAccessorImpl", "newInstance0"),
    ("jdk/internal/reflect/DirectConstructorHandleAccessor$NativeAccessor", "newInstance0"),
];

/// Whether a native method of this internal name and name makes objects; of what type, its callers know.
pub fn makes_objects(class: &str, method: &str) -> bool {
    MAKERS.contains(&(class, method))
}

/// How often instructions made an object or array, by its type as Java writes it: `java.lang.String`, `int[][]`. An instruction
/// that threw, or was still at it, made nothing; where a method was counted by blocks, that is not known, and each one in a block
/// that was entered counts ([`Profile::left_blocks`](cprof_profile::model::Profile::left_blocks)). `multianewarray` counts once for
/// all its arrays.
///
/// # Errors
/// The profile's copy of a class is damaged, or does not fit its counts.
pub fn made(choice: &Choice<'_>, wanted: impl Fn(u32) -> bool) -> Result<BTreeMap<String, u64>, EvaluateError> {
    let mut types: BTreeMap<String, u64> = BTreeMap::new();
    for_each_counted(
        choice,
        wanted,
        |_| 0,
        |method, _, class, _, counted| {
            let own = &choice.profile.classes[choice.profile.methods[method as usize].class as usize];
            let fail = |e: Error| CodeError { class: class.name_str().into_owned(), reason: e.to_string() };
            for (row, instruction) in counted.code.instructions.iter().enumerate() {
                let Some(type_of) = made_by(own, class, instruction).map_err(fail)? else { continue };
                let made = shown(counted.completed(row));
                if made > 0 {
                    let sum = types.entry(type_of).or_default();
                    *sum = sum.saturating_add(made);
                }
            }
            Ok(())
        },
    )?;
    Ok(types)
}

/// The type of what an instruction makes; none for one that makes nothing. `own`: the class that it is in.
fn made_by(own: &Class, class: &ClassFile<'_>, i: &Instruction<'_>) -> Result<Option<String>, Error> {
    let named = || class.pool.class_name(i.u2()).map(|name| String::from_utf8_lossy(name).into_owned());
    Ok(match i.opcode {
        // A hidden class names itself so.
        op::NEW => Some(named()?).map(|name| stable(&name, own.hidden && own.name == name)),
        op::NEWARRAY => Some(format!("{}[]", element(i.bytes[1]))),
        op::ANEWARRAY => Some(format!("{}[]", names::class(&named()?))),
        op::MULTIANEWARRAY => Some(names::class(&named()?)),
        _ => None,
    })
}
