//! Adds the fields that hold a thread's context to `java.lang.Thread`.

use cprof_instrument::abi::{THREAD_CACHE, THREAD_NODE, THREAD_TREE};
use cprof_instrument::classfile::{ClassFile, access, tag};

const ACCESS: u16 = access::PRIVATE | access::TRANSIENT | access::SYNTHETIC;

/// The class file of `java.lang.Thread` with the fields; `None` when its constant pool or its fields are too many.
pub fn add(class: &ClassFile<'_>) -> Option<Vec<u8>> {
    let old = class.bytes;
    let [pool_count, fields] = [8, class.fields_at].map(|at| u16::from_be_bytes([old[at], old[at + 1]]));

    let mut out = Vec::with_capacity(old.len() + 64);
    out.extend_from_slice(&old[..8]);
    out.extend(pool_count.checked_add(4)?.to_be_bytes());
    out.extend_from_slice(&old[10..class.pool.end]);
    for text in ["J", THREAD_NODE, THREAD_TREE, THREAD_CACHE] {
        out.push(tag::UTF8);
        out.extend((text.len() as u16).to_be_bytes());
        out.extend(text.as_bytes());
    }
    out.extend_from_slice(&old[class.pool.end..class.fields_at]);
    out.extend(fields.checked_add(3)?.to_be_bytes());
    for name in [pool_count + 1, pool_count + 2, pool_count + 3] {
        for word in [ACCESS, name, pool_count, 0] {
            out.extend(word.to_be_bytes());
        }
    }
    out.extend_from_slice(&old[class.fields_at + 2..]);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_added() {
        let class = ClassFile::parse(crate::runtime::API).unwrap();
        let wider = add(&class).unwrap();
        assert_eq!(wider.len(), class.bytes.len() + 4 + 9 + [THREAD_NODE, THREAD_TREE, THREAD_CACHE].concat().len() + 24);
        let parsed = ClassFile::parse(&wider).unwrap();
        assert_eq!(parsed.name_str(), "cprof/CProf");
    }
}
