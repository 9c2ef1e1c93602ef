//! The processors' clocks: time bases, and how far a processor may run ahead.

use super::*;

/// A token goes round. Who gets it reads its time base, after it has seen what the one before it read. The least
/// difference of the two, in ticks. Processor 1 begins by setting its time base back by `back` ticks.
fn least_step(machine: &str, processors: u32, lead: u32, back: u32) -> i32 {
    let body = format!(
        "
  load 23, 0x11000
  load 28, 0x7fffffff
  li 25, 500
  cmpwi 20, 1
  bne 2f
  mftb 6
  addi 6, 6, -{back}
  mtspr 284, 6
2:
  mtctr 25
3:
  lwz 26, 0(23)
  cmpw 26, 20
  bne 3b
  isync
  mftb 6
  lwz 7, 32(23)
  cmpwi 7, 0
  beq 4f
  subf 27, 7, 6
  cmpw 27, 28
  bge 4f
  mr 28, 27
4:
  mftb 6
  stw 6, 32(23)
  sync
  addi 26, 26, 1
  cmpwi 26, {processors}
  bne 5f
  li 26, 0
5:
  stw 26, 0(23)
  bdnz 3b
  slwi 27, 20, 2
  addi 27, 27, 0x100
  stwx 28, 23, 27
"
    );
    let program = program(processors, &body, "");
    let mut session = session(&program, machine, processors, &[&format!("lead={lead}")]);
    finish(&mut session);
    let of_each = (0..processors).map(|number| word(&session, 0x11100 + 4 * number) as i32);
    of_each.min().unwrap()
}

/// Nobody reads an earlier time than was read before, but by what a processor may run ahead.
#[test]
fn time_bases_stay_in_step() {
    for (machine, lead) in [("ppc604-185", 1), ("ppc604-185", 100), ("ppc750-400", 100)] {
        let most = i32::try_from(lead).unwrap() / 8 + 8;
        for processors in [2, 4, 8] {
            let least = least_step(machine, processors, lead, 0);
            assert!(
                (-most..1000).contains(&least),
                "{machine}, {processors}: {least} ticks"
            );
        }
        let least = least_step(machine, 2, lead, 200);
        assert!(least < -most, "{machine}: {least} ticks");
    }
}

/// `lead` changes the order of accesses within its cycles. Cores with the shared state are touched by that only
/// where two of them miss at the same time, and one waits for the bus.
/// Without it every poll of a lock takes the line, for as long as memory takes, and the order of accesses decides how
/// often.
#[test]
fn the_lead_changes_times_within_bounds() {
    for (machine, percent) in [("ppc604-185", 50), ("ppc603-133", 300)] {
        for processors in [2, 4] {
            let program = program(processors, LOCKED, "");
            let elapsed = |lead: &str| {
                let mut session = session(&program, machine, processors, &[lead]);
                finish(&mut session);
                session.machine().instant().cycles
            };
            let (least, usual) = (elapsed("lead=1"), elapsed("lead=100"));
            let (less, more) = (least.min(usual), least.max(usual));
            println!("{machine}, {processors}: {least} cycles with lead=1, {usual} with 100");
            assert!(
                (more - less) * 100 <= less * percent,
                "{machine}: {least}, {usual}"
            );
        }
    }
}
