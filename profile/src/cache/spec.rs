//! What a cache is like, and how it is written: `4k/16`, `lru:8k/32@shared`, `ideal`, `none`.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Which methods are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheKind {
    /// The methods loaded last, as many blocks as there are.
    Fifo,
    /// The methods used last.
    Lru,
    /// All, always.
    Ideal,
    /// No method, ever: each lookup loads.
    None,
}

/// Whose cache it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Each thread runs on a core of its own.
    #[default]
    Thread,
    /// All threads share one core.
    Shared,
}

/// A cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CacheSpec {
    /// Which methods are there.
    pub kind: CacheKind,
    /// Bytes; 0 for ideal and none.
    pub size: u32,
    /// Number of blocks of equal size; 0 for ideal and none.
    pub blocks: u32,
    /// Whose.
    #[serde(default)]
    pub scope: Scope,
}

/// A cache that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "{text:?} is no cache: {reason}. A cache is SIZE/BLOCKS as 4k/16, with lru: before it for another strategy, or ideal, or none"
)]
pub struct SpecError {
    text: String,
    reason: &'static str,
}

impl CacheSpec {
    /// All lookups hit.
    pub const IDEAL: CacheSpec = CacheSpec { kind: CacheKind::Ideal, size: 0, blocks: 0, scope: Scope::Thread };
    /// All lookups miss.
    pub const NONE: CacheSpec = CacheSpec { kind: CacheKind::None, size: 0, blocks: 0, scope: Scope::Thread };

    /// The largest cache, in bytes.
    pub const LARGEST: u32 = 1 << 30;

    /// Bytes of a block; 0 for ideal and none.
    pub fn block_size(&self) -> u32 {
        self.size.checked_div(self.blocks).unwrap_or(0)
    }

    /// How many blocks a method takes. 0 for ideal and none.
    pub fn blocks_of(&self, code_length: u32) -> u32 {
        match self.block_size() {
            0 => 0,
            size => code_length.max(1).div_ceil(size),
        }
    }

    /// What is wrong with it, if anything.
    pub fn problem(&self) -> Option<&'static str> {
        match self.kind {
            CacheKind::Ideal | CacheKind::None if self.size != 0 || self.blocks != 0 => Some("ideal and none have no size"),
            CacheKind::Ideal | CacheKind::None => None,
            _ if self.size == 0 || self.blocks == 0 => Some("size and number of blocks must be above 0"),
            _ if self.size > Self::LARGEST => Some("its size is above 1 GB"),
            _ if !self.size.is_multiple_of(self.blocks) => Some("its size is no multiple of the number of blocks"),
            _ => None,
        }
    }

    /// Whether outcomes follow from the counts alone, so that nothing need be simulated.
    pub fn is_fixed(&self) -> bool {
        matches!(self.kind, CacheKind::Ideal | CacheKind::None)
    }

    /// Several caches, joined by `+`.
    pub fn list(text: &str) -> Result<Vec<CacheSpec>, SpecError> {
        text.split('+').map(str::parse).collect()
    }
}

impl FromStr for CacheSpec {
    type Err = SpecError;

    fn from_str(whole: &str) -> Result<CacheSpec, SpecError> {
        let fail = |reason| SpecError { text: whole.to_owned(), reason };
        let (text, scope) = match whole.trim().split_once('@') {
            None => (whole.trim(), Scope::Thread),
            Some((text, "thread")) => (text, Scope::Thread),
            Some((text, "shared")) => (text, Scope::Shared),
            Some(_) => return Err(fail("after @ stands thread or shared")),
        };
        let (kind, geometry) = match text.split_once(':') {
            Some(("fifo", geometry)) => (CacheKind::Fifo, geometry),
            Some(("lru", geometry)) => (CacheKind::Lru, geometry),
            Some(_) => return Err(fail("the strategies with a size are fifo and lru")),
            None if text == "ideal" => return Ok(CacheSpec { scope, ..CacheSpec::IDEAL }),
            None if text == "none" => return Ok(CacheSpec { scope, ..CacheSpec::NONE }),
            None => (CacheKind::Fifo, text),
        };
        let (size, blocks) = geometry.split_once('/').ok_or_else(|| fail("the number of blocks is missing"))?;
        let (digits, unit) = match size.as_bytes().last() {
            Some(b'k' | b'K') => (&size[..size.len() - 1], 1 << 10),
            Some(b'm' | b'M') => (&size[..size.len() - 1], 1 << 20),
            _ => (size, 1),
        };
        let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse::<u32>().ok()).flatten();
        let size = number(digits)
            .and_then(|n| n.checked_mul(unit))
            .ok_or_else(|| fail("its size is no number of bytes, such as 4096, 4k or 1m, below 4 GB"))?;
        let blocks = number(blocks).ok_or_else(|| fail("its number of blocks is no number"))?;
        let spec = CacheSpec { kind, size, blocks, scope };
        spec.problem().map_or(Ok(spec), |reason| Err(fail(reason)))
    }
}

impl fmt::Display for CacheSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            CacheKind::Ideal => f.write_str("ideal")?,
            CacheKind::None => f.write_str("none")?,
            kind => {
                if kind == CacheKind::Lru {
                    f.write_str("lru:")?;
                }
                match self.size {
                    size if size.is_multiple_of(1 << 20) => write!(f, "{}m", size >> 20)?,
                    size if size.is_multiple_of(1 << 10) => write!(f, "{}k", size >> 10)?,
                    size => write!(f, "{size}")?,
                }
                write!(f, "/{}", self.blocks)?;
            }
        }
        f.write_str(if self.scope == Scope::Shared { "@shared" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_back() {
        for text in ["4k/16", "1k/4", "256k/1024", "lru:8k/32", "2m/64@shared", "100/4", "ideal", "none", "lru:1k/1@shared"] {
            assert_eq!(text.parse::<CacheSpec>().unwrap().to_string(), text);
        }
        assert_eq!("fifo:4096/16@thread".parse::<CacheSpec>().unwrap().to_string(), "4k/16");
        assert_eq!(CacheSpec::list("1k/4+4k/16").unwrap().len(), 2);
    }

    #[test]
    fn what_is_no_cache() {
        for text in
            ["", "4k", "4k/", "/16", "4k/0", "0/4", "4k/3", "plru:4k/16", "4k/16@core", "9999m/1", "-4/2", "+4k/16", "2048m/2"]
        {
            let error = text.parse::<CacheSpec>().unwrap_err().to_string();
            assert!(error.contains("4k/16"), "{error}");
        }
    }

    #[test]
    fn blocks_of_methods() {
        let cache: CacheSpec = "4k/16".parse().unwrap();
        assert_eq!([1, 256, 257, 5000].map(|l| cache.blocks_of(l)), [1, 1, 2, 20]);
        assert_eq!(CacheSpec::IDEAL.blocks_of(5000), 0);
    }
}
