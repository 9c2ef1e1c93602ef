//! `tlbie` on several processors.

use super::*;

/// Processor 1 has read a page. Processor 0 maps another frame there and invalidates. What does processor 1 read then?
#[test]
fn tlbie_reaches_the_others_if_it_is_broadcast() {
    let body = "
  paging
  load 23, 0x10080
  load 24, 0x40000000
  cmpwi 20, 0
  bne 5f
  poke 0x00300000, 3
  poke 0x00301000, 4
3:
  lwz 26, 0(23)
  cmpwi 26, 1
  bne 3b
  poke 0x002048c4, 0x00301192
  sync
  tlbie 24
  sync
  tlbsync
  sync
  li 26, 2
  stw 26, 0(23)
  b finish
5:
  lwz 27, 0(24)
  cmpwi 27, 3
  bne 5b
  li 26, 1
  stw 26, 0(23)
6:
  lwz 26, 0(23)
  cmpwi 26, 2
  bne 6b
  lwz 27, 0(24)
  load 25, 0x10100
  stw 27, 0(25)
";
    let program = program(2, body, "");
    for (settings, seen) in [
        (&[][..], 4),
        (&["tlb.broadcast=false"][..], 3),
        // These have the translation too.
        (&["tlb.l2.entries=64", "walk.walker=group-cache"][..], 4),
    ] {
        let broadcast = !settings.contains(&"tlb.broadcast=false");
        let received = u64::from(broadcast);
        let mut plain = session(&program, "ppc604-185", 2, settings);
        finish(&mut plain);
        assert_eq!(word(&plain, 0x10100), seen, "{settings:?}");
        assert_eq!(counter(&plain, 1, "tlb.received"), received);
        // Its entry, and its miss on that page later.
        assert_eq!(counter(&plain, 1, "tlb.taken"), received);
        let missed = "pollution.tlb.data.taken.kernel.kernel";
        assert_eq!(counter(&plain, 1, missed), received);
        assert_eq!(sum(&plain, "tlb.retried"), 0);
    }
}

#[test]
fn two_that_send_tlbie_at_once_retry_each_other() {
    let body = "
  li 24, 2000
  mtctr 24
  li 24, 0
3:
  tlbie 24
  tlbsync
  sync
  bdnz 3b
";
    let program = program(2, body, "");
    for (settings, broadcast) in [(&[][..], true), (&["tlb.broadcast=false"][..], false)] {
        let mut both = session(&program, "ppc604-185", 2, settings);
        finish(&mut both);
        for number in 0..2 {
            assert_eq!(counter(&both, number, "tlb.retried") > 0, broadcast);
        }
        assert!(sum(&both, "tlb.retried") <= 2 * 2 * 2000);
    }
}
