//! Method caches in the plainest way, to compare cprof's with.

use crate::OrFail;
use std::collections::{HashMap, VecDeque};

/// The geometries compared, as on the command line.
pub const CACHES: [&str; 5] = ["512/4", "1k/4", "2k/8", "4k/16", "16k/64"];

/// Size of a block in bytes, and number of blocks, of `SIZE/BLOCKS`.
fn geometry(text: &str) -> (u32, u32) {
    let (size, blocks) = text.split_once('/').expect("SIZE/BLOCKS");
    let size = match size.strip_suffix('k') {
        Some(kilobytes) => 1024 * kilobytes.parse::<u32>().or_fail(text),
        None => size.parse().or_fail(text),
    };
    let blocks: u32 = blocks.parse().or_fail(text);
    (size / blocks, blocks)
}

/// A core's cache.
enum Cache {
    /// As published: each block has a name, a lookup reads them all, a method's blocks go behind those loaded last.
    Fifo { block_size: u32, names: Vec<Option<usize>>, next: usize },
    /// Methods with their blocks, the one used last in front. Those at the back leave until there is room; what is larger than
    /// the cache does not stay.
    Lru { block_size: u32, blocks: u32, used: VecDeque<(usize, u32)> },
    /// `ideal` and `none`.
    Fixed { misses: bool },
}

impl Cache {
    fn new(text: &str) -> Cache {
        match (text, text.strip_prefix("lru:")) {
            ("ideal" | "none", _) => Cache::Fixed { misses: text == "none" },
            (_, Some(rest)) => {
                let (block_size, blocks) = geometry(rest);
                Cache::Lru { block_size, blocks, used: VecDeque::new() }
            }
            (_, None) => {
                let (block_size, blocks) = geometry(text);
                Cache::Fifo { block_size, names: vec![None; blocks as usize], next: 0 }
            }
        }
    }

    /// Whether a method is missing; it is loaded then.
    fn misses(&mut self, method: usize, code_length: u32) -> bool {
        match self {
            Cache::Fixed { misses } => *misses,
            Cache::Fifo { block_size, names, next } => {
                if names.contains(&Some(method)) {
                    return false;
                }
                for block in 0..code_length.div_ceil(*block_size) {
                    names[*next] = (block == 0).then_some(method);
                    *next = (*next + 1) % names.len();
                }
                true
            }
            Cache::Lru { block_size, blocks, used } => {
                if let Some(at) = used.iter().position(|(m, _)| *m == method) {
                    let hit = used.remove(at).expect("it is there");
                    used.push_front(hit);
                    return false;
                }
                let needed = code_length.div_ceil(*block_size);
                while !used.is_empty() && used.iter().map(|(_, b)| b).sum::<u32>() + needed > *blocks {
                    used.pop_back();
                }
                if needed <= *blocks {
                    used.push_front((method, needed));
                }
                true
            }
        }
    }
}

/// The caches of all cores.
pub struct Cores {
    cache: String,
    shared: bool,
    cores: HashMap<usize, Cache>,
}

impl Cores {
    /// Empty; `text` as on the command line: `4k/16`, `lru:4k/16`, `4k/16@shared`, `ideal`, `none`.
    pub fn new(text: &str) -> Cores {
        let cache = text.trim_end_matches("@shared");
        Cores { cache: cache.to_owned(), shared: cache != text, cores: HashMap::new() }
    }

    /// Whether a method is missing on the core of a thread; it is loaded then.
    pub fn misses(&mut self, thread: usize, method: usize, code_length: u32) -> bool {
        let core = if self.shared { 0 } else { thread };
        self.cores.entry(core).or_insert_with(|| Cache::new(&self.cache)).misses(method, code_length)
    }
}
