//! A dump as text.

use std::fmt;

use super::{BatRow, EntryRow, LineRow, StateDump, TlbRow, UnifiedTlb, WideTables};

pub(super) fn wimg_text(wimg: u8) -> String {
    (0..)
        .zip("WIMG".chars())
        .map(|(n, letter)| if wimg & 8 >> n != 0 { letter } else { '-' })
        .collect()
}

impl fmt::Display for StateDump {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "state {}", self.label)?;
        if let Some(number) = self.processor {
            write!(out, " of processor {number}")?;
        }
        writeln!(
            out,
            " at cycle {}: pc {:#010x} msr {:#010x}",
            self.cycle, self.pc, self.msr
        )?;
        if let Some(casid) = self.casid {
            entries_text(out, "instruction", casid, &self.instruction_entries)?;
            entries_text(out, "data", casid, &self.data_entries)?;
        } else if let Some(unified) = &self.unified_tlb {
            unified_text(out, unified)?;
        } else if let Some(wide) = &self.wide {
            wide_text(out, wide)?;
        } else {
            self.translation_text(out)?;
        }
        if let Some(table) = &self.hash_table {
            table.fmt(out)?;
        }
        for (name, rows) in [
            ("instruction", &self.instruction_cache),
            ("data", &self.data_cache),
            ("l2", &self.l2_cache),
        ] {
            lines_text(out, name, rows)?;
        }
        Ok(())
    }
}

impl StateDump {
    /// What a core with segments has.
    fn translation_text(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "segment registers")?;
        for row in &self.segments {
            let flag = |set, letter| if set { letter } else { '-' };
            writeln!(
                out,
                "  {:2} vsid {:06x} {}{}{}{}",
                row.number,
                row.vsid,
                flag(row.direct_store, 'T'),
                flag(row.supervisor_key, 's'),
                flag(row.user_key, 'p'),
                flag(row.no_execute, 'N')
            )?;
        }
        bats_text(out, "instruction", &self.instruction_bats)?;
        bats_text(out, "data", &self.data_bats)?;
        tlb_text(out, "instruction", &self.instruction_tlb)?;
        tlb_text(out, "data", &self.data_tlb)
    }
}

fn bats_text(out: &mut fmt::Formatter<'_>, name: &str, rows: &[BatRow]) -> fmt::Result {
    writeln!(out, "{name} BATs")?;
    for row in rows {
        writeln!(
            out,
            "  {} {:08x} -> {:08x} {:6} KB {}{} {} pp {}",
            row.number,
            row.effective,
            row.physical,
            row.size >> 10,
            if row.supervisor { 's' } else { '-' },
            if row.user { 'p' } else { '-' },
            wimg_text(row.wimg),
            row.pp
        )?;
    }
    Ok(())
}

fn tlb_text(out: &mut fmt::Formatter<'_>, name: &str, rows: &[TlbRow]) -> fmt::Result {
    writeln!(out, "{name} TLB, {} valid", rows.len())?;
    for row in rows {
        writeln!(
            out,
            "  set {:3} way {} vsid {:06x} page {:04x} -> {:08x} {} {} pp {}",
            row.set,
            row.way,
            row.vsid,
            row.page_index,
            row.physical,
            if row.changed { 'C' } else { '-' },
            wimg_text(row.wimg),
            row.pp
        )?;
    }
    Ok(())
}

fn entries_text(
    out: &mut fmt::Formatter<'_>,
    name: &str,
    casid: u8,
    rows: &[EntryRow],
) -> fmt::Result {
    let reserved = rows.iter().filter(|row| row.reserved).count();
    writeln!(
        out,
        "{name} TLB, {} valid, {reserved} of them reserved, in address space {casid:x}",
        rows.len()
    )?;
    for row in rows {
        let space = if row.shared {
            "shared".to_owned()
        } else {
            format!("asid {:x}", row.asid)
        };
        writeln!(
            out,
            "  {:2}{} {:08x} -> {:08x} {:>4} {space:6} {}{} {} group {:x} PP {:x}",
            row.number,
            if row.reserved { '*' } else { ' ' },
            row.effective,
            row.physical,
            format!("{}K", row.size.bytes() >> 10),
            if row.valid { 'V' } else { '-' },
            if row.changed { 'C' } else { '-' },
            wimg_text(row.wimg),
            row.group,
            row.level_two >> 4 & 0xff
        )?;
    }
    Ok(())
}

fn unified_text(out: &mut fmt::Formatter<'_>, tlb: &UnifiedTlb) -> fmt::Result {
    writeln!(
        out,
        "unified TLB, {} valid, in address space {:02x}, ZPR {:08x}",
        tlb.entries.len(),
        tlb.pid,
        tlb.zpr
    )?;
    for row in &tlb.entries {
        writeln!(
            out,
            "  {:2} {:08x} -> {:08x} {:>6} tid {:02x} zone {:2} {}{} {}",
            row.number,
            row.effective,
            row.physical,
            format!("{}K", row.size >> 10),
            row.tid,
            row.zone,
            if row.execute { 'X' } else { '-' },
            if row.write { 'W' } else { '-' },
            wimg_text(row.wimg)
        )?;
    }
    Ok(())
}

fn wide_text(out: &mut fmt::Formatter<'_>, tables: &WideTables) -> fmt::Result {
    let flag = |set, letter| if set { letter } else { '-' };
    writeln!(
        out,
        "segment lookaside buffer, {} valid; SDR1 {:016x}",
        tables.slb.len(),
        tables.sdr1
    )?;
    for row in &tables.slb {
        writeln!(
            out,
            "  {:2} {:016x} vsid {:013x} {}{}{}{}",
            row.number,
            row.effective,
            row.vsid,
            flag(row.supervisor_key, 's'),
            flag(row.user_key, 'p'),
            flag(row.no_execute, 'N'),
            flag(row.large, 'L')
        )?;
    }
    for (name, rows) in [
        ("instruction", &tables.instruction_erat),
        ("data", &tables.data_erat),
    ] {
        writeln!(out, "{name} ERAT, {} valid", rows.len())?;
        for row in rows {
            writeln!(
                out,
                "  {:3} {:016x} -> {:08x} {}{} {} pp {}",
                row.number,
                row.effective,
                row.physical,
                flag(row.large, 'L'),
                flag(row.changed, 'C'),
                wimg_text(row.wimg),
                row.pp
            )?;
        }
    }
    writeln!(out, "TLB, {} valid", tables.tlb.len())?;
    for row in &tables.tlb {
        writeln!(
            out,
            "  set {:3} way {} vsid {:013x} page {:04x} -> {:08x} {}{}{} {} pp {}",
            row.set,
            row.way,
            row.vsid,
            row.page_index,
            row.physical,
            flag(row.large, 'L'),
            flag(row.no_execute, 'N'),
            flag(row.changed, 'C'),
            wimg_text(row.wimg),
            row.pp
        )?;
    }
    Ok(())
}

fn lines_text(out: &mut fmt::Formatter<'_>, name: &str, rows: &[LineRow]) -> fmt::Result {
    let modified = rows.iter().filter(|row| row.modified).count();
    writeln!(
        out,
        "{name} cache, {} lines valid, {modified} modified",
        rows.len()
    )?;
    for row in rows {
        writeln!(
            out,
            "  set {:4} way {} {:08x}{}",
            row.set,
            row.way,
            row.physical,
            if row.modified { " M" } else { "" }
        )?;
    }
    Ok(())
}
