//! Method ids and their colours: the low bits of an id, which are the method's slot in its caller's node.
//!
//! Two methods called from one context should have different colours, or each call of the one evicts the other. What is
//! called together is read off the call sites of every class that is woven, by name and descriptor, before its
//! methods (and mostly before its callees) get their ids. A guess is enough: a collision costs time, never a count.

use cprof_instrument::abi::FIRST_METHOD;
use cprof_instrument::abi::node::SLOTS;
use cprof_instrument::classfile::instructions::Instructions;
use cprof_instrument::classfile::{ClassFile, Method};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use std::hash::{Hash, Hasher};

/// Number of colours.
const COLOURS: u32 = SLOTS as u32;
/// A method that calls more different ones than this cannot be coloured anyway.
const MOST: usize = 2 * COLOURS as usize;
const ALL: u32 = ((1u64 << COLOURS) - 1) as u32;

/// What is known of all methods with one name and descriptor. Sets of colours are bit masks.
#[derive(Debug, Default, Clone, Copy)]
struct Family {
    /// Colours of the methods that have ids.
    used: u32,
    /// Colours of what is called beside them.
    beside: u32,
    /// The colour that the next method is to have; 0: not decided.
    planned: u32,
}

/// Chooses colours for the methods of a JVM.
#[derive(Debug, Default)]
pub struct Colours {
    families: FxHashMap<u64, Family>,
    /// Where the search for a free colour begins, so that all are used alike.
    turn: u32,
    /// Ids handed out, by colour.
    ids: [u32; COLOURS as usize],
    callees: Vec<u64>,
    /// Ids that are not handed out: methods woven earlier have them.
    reserved: FxHashSet<u32>,
    /// The families that the class being noted names, by index in its constant pool: most are named more than once.
    of_constants: Vec<Option<u64>>,
}

impl Colours {
    /// Never hands an id out.
    pub fn reserve(&mut self, id: u32) {
        self.reserved.insert(id);
    }

    /// Notes what the methods of a class call together.
    pub fn note_calls(&mut self, class: &ClassFile<'_>) {
        let mut families = std::mem::take(&mut self.of_constants);
        families.clear();
        families.resize(class.pool.count(), None);
        for method in &class.methods {
            let Ok(Some(code)) = class.code(method) else { continue };
            self.callees.clear();
            for i in Instructions::new(code.bytes, code.at).map_while(Result::ok).filter(|i| i.is_invoke()) {
                let Some(known) = families.get_mut(usize::from(i.u2())) else { continue };
                let family = match *known {
                    Some(family) => family,
                    None => {
                        let Ok(callee) = class.pool.member(i.u2()) else { continue };
                        *known.insert(family(callee.name, callee.descriptor))
                    }
                };
                if !self.callees.contains(&family) {
                    self.callees.push(family);
                }
                if self.callees.len() > MOST {
                    break;
                }
            }
            if (2..=MOST).contains(&self.callees.len()) {
                self.tell_apart();
            }
        }
        self.of_constants = families;
    }

    /// The id for a new method. Ids of one colour are handed out in order; there may be fewer of one than of another.
    pub fn id(&mut self, method: &Method<'_>) -> u32 {
        let colour = self.choose(method);
        let before = &mut self.ids[colour as usize];
        loop {
            *before += 1;
            let id = FIRST_METHOD + (*before - 1) * COLOURS + colour;
            if !self.reserved.contains(&id) {
                return id;
            }
        }
    }

    fn choose(&mut self, method: &Method<'_>) -> u32 {
        let key = family(method.name, method.descriptor);
        let Family { used, beside, planned } = self.families.get(&key).copied().unwrap_or_default();
        let taken = [used | beside, used, 0].into_iter().find(|&taken| taken != ALL).unwrap_or(0);
        let colour = if planned & !taken != 0 { planned.trailing_zeros() } else { self.free(taken) };
        let family = self.families.entry(key).or_default();
        family.used |= 1 << colour;
        family.planned = 0;
        colour
    }

    /// Gives the callees of one method different colours, as far as they are not given yet.
    fn tell_apart(&mut self) {
        let mut taken = 0;
        for key in &self.callees {
            let family = self.families.entry(*key).or_default();
            taken |= family.used | family.planned;
        }
        for i in 0..self.callees.len() {
            let key = self.callees[i];
            let Family { used, beside, planned } = self.families[&key];
            if used | planned == 0 && taken != ALL {
                let either = if taken | beside == ALL { taken } else { taken | beside };
                let colour = 1 << self.free(either);
                taken |= colour;
                self.families.entry(key).or_default().planned = colour;
            }
        }
        for key in &self.callees {
            let family = self.families.entry(*key).or_default();
            family.beside |= taken & !(family.used | family.planned);
        }
    }

    /// A colour outside a set; any colour if that holds all.
    fn free(&mut self, taken: u32) -> u32 {
        let colour = (0..COLOURS).map(|c| (self.turn + c) % COLOURS).find(|c| taken & 1 << c == 0).unwrap_or(self.turn);
        self.turn = (colour + 1) % COLOURS;
        colour
    }
}

fn family(name: &[u8], descriptor: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    name.hash(&mut hasher);
    descriptor.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::{COLOURS, Colours};

    #[test]
    fn what_is_called_together_gets_different_colours() {
        let mut colours = Colours { callees: (0..10).collect(), ..Colours::default() };
        colours.tell_apart();
        let planned: u32 = (0..10).map(|k| colours.families[&k].planned).fold(0, |all, one| all | one);
        assert_eq!(planned.count_ones(), 10);
        // A second caller keeps what is decided and separates the new ones from it.
        colours.callees = vec![3, 4, 20];
        colours.tell_apart();
        let [a, b, c] = [3, 4, 20].map(|k| colours.families[&k].planned);
        assert!(a & b == 0 && b & c == 0 && a & c == 0 && c != 0);
    }

    #[test]
    fn more_than_there_are_colours_is_no_error() {
        let mut colours = Colours { callees: (0..u64::from(COLOURS) + 5).collect(), ..Colours::default() };
        colours.tell_apart();
        assert!(colours.families.values().filter(|f| f.planned == 0).count() >= 5);
    }
}
