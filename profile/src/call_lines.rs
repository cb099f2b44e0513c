//! The source lines of calls, where contexts distinguish call sites.

use crate::code::{CodeError, Lines, for_each_method};
use crate::model::Profile;
use crate::target::InvokeKind;
use crate::tree::{Context, Symbols, Tree, What};
use cprof_instrument::classfile::instructions::Instructions;
use rustc_hash::FxHashMap;

/// The source lines of calls. A profile that was merged of runs of several versions of a program has several methods of one name.
pub struct CallLines {
    /// Those of all bytecodes.
    pub lines: Lines,
    /// By symbol, the methods of those that have several.
    versions: FxHashMap<u32, Vec<Version>>,
}

/// One of several methods of a name.
struct Version {
    method: usize,
    /// Bytecode indices of its calls, rising.
    calls: Vec<u32>,
}

impl CallLines {
    /// Reads the line numbers of every method.
    ///
    /// # Errors
    /// A class of the profile cannot be read.
    pub fn read(profile: &Profile, symbols: &Symbols) -> Result<CallLines, CodeError> {
        let lines = Lines::read(profile)?;
        let mut versions: FxHashMap<u32, Vec<Version>> = FxHashMap::default();
        for method in 0..profile.methods.len() {
            let version = Version { method, calls: Vec::new() };
            versions.entry(symbols.of_method(method as u32)).or_default().push(version);
        }
        versions.retain(|_, of_name| of_name.len() > 1);
        if !versions.is_empty() {
            for_each_method(profile, |m, class, method| {
                let of_name = versions.get_mut(&symbols.of_method(m as u32));
                let version = of_name.and_then(|of_name| of_name.iter_mut().find(|version| version.method == m));
                if let (Some(version), Ok(Some(code))) = (version, class.code(method)) {
                    let calls = Instructions::new(code.bytes, code.at).map_while(Result::ok);
                    version.calls = calls.filter(|i| InvokeKind::of_opcode(i.opcode).is_some()).map(|i| i.bci).collect();
                }
                Ok(())
            })?;
        }
        Ok(CallLines { lines, versions })
    }

    /// The line in its caller that a context was called from: with several versions of the caller, that of those that have a call
    /// there, if they agree.
    pub fn line(&self, tree: &Tree, context: &Context) -> Option<u16> {
        let bci = context.site.checked_sub(1)?;
        let caller = tree.context(context.parent);
        let versions = match caller.what {
            What::Method(symbol) => self.versions.get(&symbol),
            What::Root | What::Folded => None,
        };
        let Some(versions) = versions else { return self.lines.line(caller.method as usize, bci) };
        let with_call = versions.iter().filter(|version| version.calls.binary_search(&bci).is_ok());
        let mut lines = with_call.map(|version| self.lines.line(version.method, bci));
        let first = lines.next()??;
        lines.all(|line| line == Some(first)).then_some(first)
    }
}
