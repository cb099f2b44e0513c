//! Each strategy against the plainest possible reading of its description.

use super::*;

/// The published cache, word for word: a name per block, a search through all of them, the writer's position.
struct PublishedLoop {
    block_size: u32,
    names: Vec<Option<u32>>,
    next: usize,
}

impl PublishedLoop {
    fn new(spec: CacheSpec) -> PublishedLoop {
        PublishedLoop { block_size: spec.block_size(), names: vec![None; spec.blocks as usize], next: 0 }
    }

    fn missed(&mut self, event: Lookup) -> bool {
        for name in &self.names {
            if *name == Some(event.method) {
                return false;
            }
        }
        let mut blocks = event.code_length.div_ceil(self.block_size);
        let mut name = Some(event.method);
        while blocks > 0 {
            self.names[self.next] = name;
            name = None; // only the first block carries the name
            self.next = (self.next + 1) % self.names.len();
            blocks -= 1;
        }
        true
    }
}

/// Least recently used as a list, searched from the front.
struct LruList {
    spec: CacheSpec,
    newest_first: Vec<(u32, u32)>,
}

impl LruList {
    fn missed(&mut self, event: Lookup) -> bool {
        let found = self.newest_first.iter().position(|m| m.0 == event.method);
        let entry = match found {
            Some(at) => self.newest_first.remove(at),
            None => (event.method, event.code_length.div_ceil(self.spec.block_size())),
        };
        self.newest_first.insert(0, entry);
        let taken = |list: &[(u32, u32)]| list.iter().map(|m| m.1).sum::<u32>();
        if entry.1 > self.spec.blocks {
            self.newest_first.clear();
        }
        while taken(&self.newest_first) > self.spec.blocks {
            self.newest_first.pop();
        }
        found.is_none()
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// Calls and returns of random methods, some larger than the cache; phases that stay among few methods and phases that
/// do not.
fn events(random: &mut Random, count: usize, largest: u64) -> Vec<Lookup> {
    let methods: Vec<u32> = (0..60).map(|_| 1 + random.below(largest) as u32).collect();
    let mut stack: Vec<u32> = Vec::new();
    let mut near = 4;
    (0..count)
        .map(|_| {
            if random.below(500) == 0 {
                near = [2, 4, 12, 60][random.below(4) as usize];
            }
            let returns = stack.len() > 1 && (stack.len() > 30 || random.below(2) == 0);
            let (method, cause) = if returns {
                stack.pop();
                (stack[stack.len() - 1], Cause::Return)
            } else {
                let method = random.below(near) as u32;
                stack.push(method);
                (method, Cause::Enter)
            };
            Lookup { method, code_length: methods[method as usize], cause }
        })
        .collect()
}

fn caches(kind: &str) -> Vec<CacheSpec> {
    let geometries = ["1k/4", "4k/16", "16k/64", "64k/256", "1k/1", "512/2", "1000/5"];
    geometries.iter().filter_map(|g| format!("{kind}{g}").parse().ok()).collect()
}

/// Events in batches of random sizes.
fn outcomes(cache: &mut dyn CacheStrategy, events: &[Lookup], random: &mut Random) -> Vec<bool> {
    let mut missed = vec![false; events.len()];
    let mut at = 0;
    while at < events.len() {
        let end = (at + 1 + random.below(400) as usize).min(events.len());
        cache.lookups(&events[at..end], &mut missed[at..end]);
        at = end;
    }
    missed
}

#[test]
fn fifo_is_the_published_loop() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let (mut total, mut misses, mut too_large) = (0, 0, 0);
    for spec in caches("") {
        for largest in [40, 700, 3 * u64::from(spec.size)] {
            let events = events(&mut random, 120_000, largest);
            let mut published = PublishedLoop::new(spec);
            let expected: Vec<bool> = events.iter().map(|e| published.missed(*e)).collect();
            let found = outcomes(&mut Fifo::new(spec), &events, &mut random);
            let differs = found.iter().zip(&expected).position(|(a, b)| a != b);
            assert_eq!(differs, None, "{spec}, methods up to {largest} bytes");
            total += events.len();
            misses += expected.iter().filter(|m| **m).count();
            too_large += events.iter().filter(|e| spec.blocks_of(e.code_length) > spec.blocks).count();
        }
    }
    assert!(
        total > 2_000_000 && misses > total / 10 && misses < total * 9 / 10 && too_large > total / 20,
        "{total} {misses} {too_large}"
    );
}

#[test]
fn lru_is_a_list() {
    let mut random = Random(0x2545_F491_4F6C_DD1D);
    for spec in caches("lru:") {
        for largest in [40, 700, 3 * u64::from(spec.size)] {
            let events = events(&mut random, 40_000, largest);
            let mut list = LruList { spec, newest_first: Vec::new() };
            let expected: Vec<bool> = events.iter().map(|e| list.missed(*e)).collect();
            assert_eq!(outcomes(&mut Lru::new(spec), &events, &mut random), expected, "{spec}, methods up to {largest} bytes");
        }
    }
}

/// So many that the list of uses has to grow; it does so no further.
#[test]
fn lru_of_thousands_of_methods_is_a_list() {
    let mut random = Random(0x6C07_8965_D0E4_1F2B);
    let spec: CacheSpec = "lru:4k/4096".parse().unwrap();
    let events: Vec<Lookup> = (0..30_000)
        .map(|_| {
            let method = random.below(3500) as u32;
            Lookup { method, code_length: 1 + method % 2, cause: Cause::Enter }
        })
        .collect();
    let mut list = LruList { spec, newest_first: Vec::new() };
    let expected: Vec<bool> = events.iter().map(|e| list.missed(*e)).collect();
    let mut lru = Lru::new(spec);
    assert_eq!(outcomes(&mut lru, &events, &mut random), expected);
    assert!(lru.uses() <= 2 * 3500, "{}", lru.uses());
    let misses = expected.iter().filter(|m| **m).count();
    assert!((5000..25_000).contains(&misses) && list.newest_first.len() > 2500, "{misses} {}", list.newest_first.len());
}

#[test]
fn ideal_never_misses_and_none_always() {
    let mut random = Random(1);
    let events = events(&mut random, 100, 100);
    assert!(outcomes(&mut *strategy(CacheSpec::IDEAL), &events, &mut random).iter().all(|m| !m));
    assert!(outcomes(&mut *strategy(CacheSpec::NONE), &events, &mut random).iter().all(|m| *m));
}

#[test]
fn three_methods_in_a_cache_of_two() {
    let spec: CacheSpec = "512/2".parse().unwrap();
    let run = |spec, methods: &[u32]| {
        let mut cache = strategy(spec);
        let lookup = |&method: &u32| cache.lookup(Lookup { method, code_length: 200, cause: Cause::Enter });
        methods.iter().map(lookup).collect::<Vec<bool>>()
    };
    // At the third lookup 1 is used again: LRU then keeps it when 3 comes, FIFO does not.
    assert_eq!(run(spec, &[1, 2, 1, 3, 1]), [true, true, false, true, true]);
    assert_eq!(run("lru:512/2".parse().unwrap(), &[1, 2, 1, 3, 1]), [true, true, false, true, false]);
}
