//! noak, an independent reader of class files, finds the same constants and instructions as ours.
//!
//! Not compared is what noak 0.7 is known to get wrong or cannot read: LineNumberTable, offsets in StackMapTable.

use cprof_instrument::classfile::instructions::Instructions;
use cprof_instrument::classfile::{ClassFile, tag};
use noak::reader::cpool::Item;
use noak::reader::{AttributeContent, Class};

use crate::support::jdk;

fn tag_of(item: &Item<'_>) -> u8 {
    match item {
        Item::Utf8(_) => tag::UTF8,
        Item::Integer(_) => tag::INTEGER,
        Item::Float(_) => tag::FLOAT,
        Item::Long(_) => tag::LONG,
        Item::Double(_) => tag::DOUBLE,
        Item::Class(_) => tag::CLASS,
        Item::String(_) => tag::STRING,
        Item::FieldRef(_) => tag::FIELDREF,
        Item::MethodRef(_) => tag::METHODREF,
        Item::InterfaceMethodRef(_) => tag::INTERFACE_METHODREF,
        Item::NameAndType(_) => tag::NAME_AND_TYPE,
        Item::MethodHandle(_) => tag::METHOD_HANDLE,
        Item::MethodType(_) => tag::METHOD_TYPE,
        Item::Dynamic(_) => tag::DYNAMIC,
        Item::InvokeDynamic(_) => tag::INVOKE_DYNAMIC,
        Item::Module(_) => tag::MODULE,
        Item::Package(_) => tag::PACKAGE,
    }
}

#[test]
fn agrees_with_noak() {
    let (mut constants, mut instructions) = (0u64, 0u64);
    for (name, bytes) in jdk::classes() {
        let ours = ClassFile::parse(bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        let theirs = Class::new(bytes).unwrap_or_else(|error| panic!("noak on {name}: {error}"));
        let mut next = 1;
        for (index, item) in theirs.pool().iter_indices() {
            let index = index.as_u16();
            assert!((next..index).all(|gap| ours.pool.tag(gap).is_err()), "{name}: a constant before {index} that noak lacks");
            assert_eq!(ours.pool.tag(index), Ok(tag_of(item)), "{name}: constant {index}");
            if let Item::Utf8(text) = item {
                assert_eq!(ours.pool.utf8(index), Ok(text.content.as_bytes()), "{name}: constant {index}");
            }
            next = index + 1;
            constants += 1;
        }
        assert!((next as usize..ours.pool.count()).all(|gap| ours.pool.tag(gap as u16).is_err()), "{name}: constants at the end");

        let mut methods = ours.methods.iter();
        for theirs_method in theirs.methods() {
            let method = methods.next().unwrap_or_else(|| panic!("{name}: noak finds more methods"));
            let theirs_method = theirs_method.unwrap_or_else(|error| panic!("noak on {name}: {error}"));
            assert_eq!(method.access, theirs_method.access_flags().bits(), "{name}");
            let code = ours.code(method).unwrap_or_else(|error| panic!("{name}: {error}"));
            let theirs_code = theirs_method.attributes().iter().find_map(|attribute| {
                match attribute.ok()?.read_content(theirs.pool()).ok()? {
                    AttributeContent::Code(code) => Some(code),
                    _ => None,
                }
            });
            assert_eq!(code.is_some(), theirs_code.is_some(), "{name}.{}", method.name_str());
            let (Some(code), Some(theirs_code)) = (code, theirs_code) else { continue };
            assert_eq!((code.max_stack, code.max_locals), (theirs_code.max_stack(), theirs_code.max_locals()));
            let starts: Vec<u32> = Instructions::new(code.bytes, code.at).map(|i| i.expect("whole").bci).collect();
            let theirs_starts: Vec<u32> = theirs_code.raw_instructions().map(|i| i.expect("whole").0.as_u32()).collect();
            assert_eq!(starts, theirs_starts, "{name}.{}", method.name_str());
            let handlers = code.handlers().map(|h| [h.start, h.end, h.target].map(u32::from));
            let theirs_handlers =
                theirs_code.exception_handlers().map(|h| [h.start().as_u32(), h.end().as_u32(), h.handler().as_u32()]);
            assert!(handlers.eq(theirs_handlers), "{name}.{}: handlers", method.name_str());
            instructions += starts.len() as u64;
        }
        assert!(methods.next().is_none(), "{name}: noak finds fewer methods");
    }
    assert!(constants > 100_000 && instructions > 100_000, "{constants} constants and {instructions} instructions compared");
}
