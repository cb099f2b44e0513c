//! A processor that TOML cannot describe: its lookupswitch compares one case after the other, so that it costs 3 cycles per
//! case. Everything else is another model's.
//!
//! `cargo run -p cprof-profile --example cycle_estimator -- app.cprof [TARGET]`

use cprof_instrument::classfile::instructions::Instruction;
use cprof_instrument::classfile::opcode::op;
use cprof_profile::cache::CacheSpec;
use cprof_profile::cycles::{Options, evaluate};
use cprof_profile::target::{Cost, CycleEstimator, InvokeKind, Library, TargetError};
use cprof_profile::{file, measure::measure, natives::native_calls};
use std::error::Error;
use std::path::Path;

struct LinearSwitch<E> {
    rest: E,
}

impl<E: CycleEstimator> CycleEstimator for LinearSwitch<E> {
    fn name(&self) -> &str {
        "linear-switch"
    }

    fn bytecode(&self, instruction: &Instruction<'_>) -> Result<Cost, TargetError> {
        if instruction.opcode == op::LOOKUPSWITCH {
            // The default is the first of the targets.
            let cases = instruction.switch_targets().count() as u64 - 1;
            return Ok(Cost { cycles: 8 + 3 * cases, estimated: false });
        }
        self.rest.bytecode(instruction)
    }

    fn invoke(&self, kind: InvokeKind, miss: Option<u32>) -> Result<u64, TargetError> {
        self.rest.invoke(kind, miss)
    }

    fn leave(&self, opcode: u8, miss: Option<u32>) -> Result<u64, TargetError> {
        self.rest.leave(opcode, miss)
    }

    fn words(&self, code_length: u32) -> u32 {
        self.rest.words(code_length)
    }

    fn clock_mhz(&self) -> Option<u64> {
        self.rest.clock_mhz()
    }

    fn cache(&self) -> CacheSpec {
        self.rest.cache()
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("give the path of a profile")?;
    let profile = file::read(Path::new(&path))?;
    let measures = measure(&profile)?;
    let natives = native_calls(&profile, &measures)?;
    let target = arguments.next().unwrap_or_else(|| "bytecodes".to_owned());
    let options = Options { cache: Some(CacheSpec::IDEAL), ..Options::default() };
    let cycles = |estimator: &dyn CycleEstimator| {
        let evaluation = evaluate(&profile, &measures, &natives, estimator, &options)?;
        let sum: u64 = evaluation.nodes.cycles.sum();
        Ok::<_, Box<dyn Error>>((estimator.name().to_owned(), sum))
    };
    let model = Library.load(&target)?;
    for (name, cycles) in [cycles(&model)?, cycles(&LinearSwitch { rest: model })?] {
        println!("{name:20} {cycles:>15} cycles");
    }
    Ok(())
}
