//! Static methods of `java.lang.Object` that pass each call on to the runtime class.
//!
//! A class of another loader than the JVM's own may not name the runtime class: resolving that name makes the JVM call the
//! loader's `loadClass` (JVMS §5.3.2), which is code of the program. Every class inherits static methods of `Object`
//! (JVMS §5.4.3.3), so it reaches these through its superclass, which its loader has been asked for when the class was defined
//! (§5.3.5). (Through itself would not do for the accessors that JDK 17 generates: HotSpot resolves the names in a class
//! of `DelegatingClassLoader` by that loader's parent, which does not know them.) They are public, because an interface, whose
//! superclass is `Object` too (§4.1), may not call protected methods of it (§5.4.4); the runtime hides them from reflection.

use super::calls::Call;
use super::pool::NewConstants;
use super::sequences::local;
use crate::classfile::access;
use crate::classfile::descriptor::{parameters, slots};
use crate::classfile::opcode::op;

/// The class that gets the methods.
pub(super) const CLASS: &[u8] = b"java/lang/Object";
/// The methods' names are those of the runtime's with this in front.
pub(super) const PREFIX: &str = "cprof$";

const ACCESS: u16 = access::PUBLIC | access::STATIC | access::SYNTHETIC;
/// HotSpot inlines the methods wherever they are called, and leaves them out of stack traces.
const ANNOTATIONS: [&[u8]; 2] = [b"Ljdk/internal/vm/annotation/ForceInline;", b"Ljdk/internal/vm/annotation/Hidden;"];

/// Appends the methods to `out`, as `method_info`s; answers how many.
pub(super) fn write(out: &mut Vec<u8>, constants: &mut NewConstants) -> u16 {
    let code_name = constants.utf8(b"Code").to_be_bytes();
    let annotations_name = constants.utf8(b"RuntimeVisibleAnnotations").to_be_bytes();
    let types = ANNOTATIONS.map(|name| constants.utf8(name).to_be_bytes());
    let mut count = 0;
    for call in Call::ALL.iter().copied().filter(|call| !matches!(call, Call::Start | Call::End)) {
        let (name, descriptor) = call.signature();
        out.extend_from_slice(&ACCESS.to_be_bytes());
        out.extend_from_slice(&constants.utf8(format!("{PREFIX}{name}").as_bytes()).to_be_bytes());
        out.extend_from_slice(&constants.utf8(descriptor.as_bytes()).to_be_bytes());
        out.extend_from_slice(&[0, 2]);

        let (code, arguments) = body(call, descriptor, constants);
        let max_stack = arguments.max(2);
        out.extend_from_slice(&code_name);
        out.extend_from_slice(&(12 + code.len() as u32).to_be_bytes());
        out.extend_from_slice(&max_stack.to_be_bytes());
        out.extend_from_slice(&arguments.to_be_bytes());
        out.extend_from_slice(&(code.len() as u32).to_be_bytes());
        out.extend_from_slice(&code);
        out.extend_from_slice(&[0, 0, 0, 0]); // no handlers, no attributes

        out.extend_from_slice(&annotations_name);
        out.extend_from_slice(&(2 + 4 * types.len() as u32).to_be_bytes());
        out.extend_from_slice(&(types.len() as u16).to_be_bytes());
        for name in types {
            out.extend_from_slice(&[name[0], name[1], 0, 0]);
        }
        count += 1;
    }
    count
}

/// Passes all arguments on; answers the code and the slots of the arguments.
fn body(call: Call, descriptor: &str, constants: &mut NewConstants) -> (Vec<u8>, u16) {
    let mut code = Vec::new();
    let mut slot = 0;
    for parameter in parameters(descriptor.as_bytes()).flatten() {
        if parameter == b"J" {
            local(&mut code, op::LLOAD, Some(op::LLOAD_0), slot);
            slot += 2;
        } else {
            local(&mut code, op::ILOAD, Some(op::ILOAD_0), slot);
            slot += 1;
        }
    }
    let [high, low] = constants.call(call).to_be_bytes();
    code.extend_from_slice(&[op::INVOKESTATIC, high, low]);
    let returns_long = slots(descriptor.as_bytes()).is_some_and(|(_, result)| result == 2);
    code.push(if returns_long { op::LRETURN } else { op::RETURN });
    (code, slot)
}
