//! The source lines of calls, where contexts distinguish call sites.

use crate::code::{CodeError, Lines, for_each_method};
use crate::model::Profile;
use crate::target::InvokeKind;
use crate::tree::{Context, Symbols, Tree, What};
use cprof_instrument::classfile::instructions::Instructions;
use rustc_hash::FxHashMap;

/// The source lines of calls. A profile that was merged of runs of several versions of a program has several methods of one name,
/// and so has any of hidden classes.
pub struct CallLines {
    /// Those of all bytecodes.
    pub lines: Lines,
    /// Whether there are several methods of a name, by symbol.
    several: Vec<bool>,
    /// Of those, by symbol and bytecode index of a call, the line; none where they differ in it.
    of_several: FxHashMap<(u32, u32), Option<u16>>,
}

impl CallLines {
    /// Reads the line numbers of every method.
    ///
    /// # Errors
    /// A class of the profile cannot be read.
    pub fn read(profile: &Profile, symbols: &Symbols) -> Result<CallLines, CodeError> {
        let lines = Lines::read(profile)?;
        let (mut one, mut several) = (vec![false; symbols.list.len()], vec![false; symbols.list.len()]);
        for method in 0..profile.methods.len() as u32 {
            let symbol = symbols.of_method(method) as usize;
            several[symbol] |= std::mem::replace(&mut one[symbol], true);
        }
        let mut of_several: FxHashMap<(u32, u32), Option<u16>> = FxHashMap::default();
        if profile.run.sites && several.contains(&true) {
            for_each_method(profile, |m, class, method| {
                let symbol = symbols.of_method(m as u32);
                if let (true, Ok(Some(code))) = (several[symbol as usize], class.code(method)) {
                    let calls = Instructions::new(code.bytes, code.at).map_while(Result::ok);
                    for call in calls.filter(|i| InvokeKind::of_opcode(i.opcode).is_some()) {
                        let line = lines.line(m, call.bci);
                        let known = of_several.entry((symbol, call.bci)).or_insert(line);
                        *known = known.filter(|_| *known == line);
                    }
                }
                Ok(())
            })?;
        }
        Ok(CallLines { lines, several, of_several })
    }

    /// The line in its caller that a context was called from: with several methods of the caller's name, that of those that have a
    /// call there, if they agree.
    pub fn line(&self, tree: &Tree, context: &Context) -> Option<u16> {
        let bci = context.site.checked_sub(1)?;
        let caller = tree.context(context.parent);
        match caller.what {
            What::Method(symbol) if self.several[symbol as usize] => self.of_several.get(&(symbol, bci)).copied().flatten(),
            _ => self.lines.line(caller.method as usize, bci),
        }
    }
}
