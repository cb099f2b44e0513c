//! Adds the fields that hold a thread's context to `java.lang.Thread`.

use cprof_instrument::abi::{THREAD_CACHE, THREAD_NODE, THREAD_TREE};

/// private transient synthetic (JVMS table 4.5-A).
const ACCESS: u16 = 0x0002 | 0x0080 | 0x1000;

/// The class file of `java.lang.Thread` with the fields; `None` when it is not a readable class file.
pub fn add(class: &[u8]) -> Option<Vec<u8>> {
    let pool_count = u16_at(class, 8)?;
    let pool_end = skip_pool(class, pool_count)?;
    let interfaces = u16_at(class, pool_end + 6)?;
    let fields_at = pool_end + 8 + 2 * usize::from(interfaces);
    let fields = u16_at(class, fields_at)?;

    let mut out = Vec::with_capacity(class.len() + 64);
    out.extend_from_slice(&class[..8]);
    out.extend(pool_count.checked_add(4)?.to_be_bytes());
    out.extend_from_slice(&class[10..pool_end]);
    for text in ["J", THREAD_NODE, THREAD_TREE, THREAD_CACHE] {
        out.push(1);
        out.extend((text.len() as u16).to_be_bytes());
        out.extend(text.as_bytes());
    }
    out.extend_from_slice(&class[pool_end..fields_at]);
    out.extend(fields.checked_add(3)?.to_be_bytes());
    for name in [pool_count + 1, pool_count + 2, pool_count + 3] {
        for word in [ACCESS, name, pool_count, 0] {
            out.extend(word.to_be_bytes());
        }
    }
    out.extend_from_slice(&class[fields_at + 2..]);
    Some(out)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2).map(|b| u16::from_be_bytes([b[0], b[1]]))
}

/// Offset behind the constant pool (JVMS §4.4).
fn skip_pool(class: &[u8], count: u16) -> Option<usize> {
    let mut at = 10;
    let mut index = 1;
    while index < count {
        let tag = *class.get(at)?;
        at += 1 + match tag {
            1 => 2 + usize::from(u16_at(class, at + 1)?),
            3 | 4 | 9 | 10 | 11 | 12 | 17 | 18 => 4,
            5 | 6 => 8,
            7 | 8 | 16 | 19 | 20 => 2,
            15 => 3,
            _ => return None,
        };
        index += if tag == 5 || tag == 6 { 2 } else { 1 };
    }
    (at <= class.len()).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_added_and_damage_is_refused() {
        let class = crate::runtime::API;
        let wider = add(class).unwrap();
        assert_eq!(wider.len(), class.len() + 4 + 9 + [THREAD_NODE, THREAD_TREE, THREAD_CACHE].concat().len() + 24);
        let parsed = cprof_instrument::classfile::ClassFile::parse(&wider).unwrap();
        assert_eq!(parsed.name_str(), "cprof/CProf");
        // Up to the number of fields, the last thing that is read.
        for cut in 0..skip_pool(class, u16_at(class, 8).unwrap()).unwrap() + 10 {
            assert!(add(&class[..cut]).is_none(), "cut at {cut}");
        }
    }
}
