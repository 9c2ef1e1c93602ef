//! The disk under a driver that keeps the rules, against a plain copy; and under one that breaks all of them.

use super::*;
use crate::board::Instant;

const RAM: u64 = 0x8000_0000;
const DESCRIPTORS: u64 = 0x1000;
const ASKED: u64 = 0x2000;
const USED: u64 = 0x3000;
const HEADER: u64 = 0x4000;
const STATUS: u64 = 0x4100;
const DATA: u64 = 0x5000;
const SIZE: u32 = 8;

/// A xorshift generator, as good as any here.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, most: u64) -> u64 {
        self.next() % most
    }
}

struct Bench {
    disk: Disk,
    ram: Vec<u8>,
    console: Console,
}

impl Bench {
    fn new(content: Vec<u8>) -> Self {
        let mut disk = Disk::new(RAM);
        disk.insert(content);
        let (ram, console) = (vec![0; 0x2_0000], Console::memory());
        Bench { disk, ram, console }
    }

    fn write(&mut self, offset: u32, value: u32) {
        let (window, size, now) = (0, 4, Instant::default());
        let at = At {
            window,
            offset,
            size,
            now,
        };
        let done = self.disk.write(at, value.into(), &mut self.console);
        assert_eq!(done, Ok(None));
        let moved = self.disk.transfer(0, &mut self.ram, &mut self.console);
        assert_eq!(moved, Ok(()));
        for place in self.disk.take_written() {
            assert!(place.end <= self.ram.len());
        }
    }

    fn read(&mut self, offset: u32) -> u32 {
        let (window, size, now) = (0, 4, Instant::default());
        let at = At {
            window,
            offset,
            size,
            now,
        };
        self.disk.read(at, &mut self.console).unwrap() as u32
    }

    fn set_up(&mut self) {
        for (offset, value) in [
            (0x70, 0),
            (0x70, 1),
            (0x70, 3),
            (0x24, 0),
            (0x20, 0x206),
            (0x24, 1),
            (0x20, 1),
            (0x70, 11),
            (0x30, 0),
            (0x38, SIZE),
            (0x80, (RAM + DESCRIPTORS) as u32),
            (0x90, (RAM + ASKED) as u32),
            (0xa0, (RAM + USED) as u32),
            (0x44, 1),
            (0x70, 15),
        ] {
            self.write(offset, value);
        }
        assert_eq!(self.read(0x70), 15);
    }

    fn put(&mut self, at: u64, bytes: &[u8]) {
        self.ram[at as usize..][..bytes.len()].copy_from_slice(bytes);
    }

    fn descriptor(&mut self, number: u64, at: u64, size: u32, flags: u16, next: u16) {
        let place = DESCRIPTORS + 16 * number;
        self.put(place, &(RAM + at).to_le_bytes());
        self.put(place + 8, &size.to_le_bytes());
        self.put(place + 12, &flags.to_le_bytes());
        self.put(place + 14, &next.to_le_bytes());
    }

    /// One request of a header, data and a status; the status that the device wrote.
    fn request(&mut self, kind: u32, sector: u64, bytes: u32) -> u8 {
        self.put(HEADER, &kind.to_le_bytes());
        self.put(HEADER + 8, &sector.to_le_bytes());
        self.ram[STATUS as usize] = 0xee;
        let writes = if kind == 0 { DEVICE_WRITES } else { 0 };
        self.descriptor(0, HEADER, 16, NEXT, 1);
        self.descriptor(1, DATA, bytes, NEXT | writes, 2);
        self.descriptor(2, STATUS, 1, DEVICE_WRITES, 0);
        let taken = self.disk.driver.taken;
        self.put(ASKED + 4 + 2 * u64::from(taken % SIZE as u16), &[0, 0]);
        self.put(ASKED + 2, &(taken + 1).to_le_bytes());
        self.write(0x50, 0);
        assert!(self.disk.interrupt());
        self.write(0x64, 3);
        assert!(!self.disk.interrupt());
        self.ram[STATUS as usize]
    }
}

#[test]
fn a_driver_reads_what_it_has_written() {
    let mut random = Random(7);
    let content: Vec<u8> = (0..100 * 512).map(|_| random.next() as u8).collect();
    let (mut plain, mut bench) = (content.clone(), Bench::new(content));
    bench.set_up();
    for _ in 0..2000 {
        let (sector, sectors) = (random.below(110), 1 + random.below(8));
        let (kind, bytes) = (random.below(2) as u32, 512 * sectors as usize);
        let new: Vec<u8> = (0..bytes).map(|_| random.next() as u8).collect();
        bench.put(DATA, &new);
        let state = bench.request(kind, sector, bytes as u32);
        let place = 512 * sector as usize..512 * sector as usize + bytes;
        if place.end > plain.len() {
            assert_eq!(state, FAILED);
            continue;
        }
        assert_eq!(state, DONE);
        if kind == 1 {
            plain[place].copy_from_slice(&new);
        } else {
            assert_eq!(bench.ram[DATA as usize..][..bytes], plain[place]);
        }
    }
    assert_eq!(bench.disk.content(), Some(&*plain));
    assert_eq!(bench.request(4, 0, 0), DONE);
    assert_eq!(bench.request(99, 0, 0), UNKNOWN);
}

#[test]
fn nothing_that_a_driver_writes_makes_it_fail() {
    let mut random = Random(99);
    let mut broken = 0;
    for _ in 0..3000 {
        let mut bench = Bench::new(vec![0x5a; 4000]);
        for byte in DESCRIPTORS as usize..DATA as usize {
            bench.ram[byte] = if random.below(3) == 0 {
                random.next() as u8
            } else {
                0
            };
        }
        if random.below(8) != 0 {
            bench.set_up();
        }
        for _ in 0..20 {
            let number = random.below(u64::from(SIZE));
            let near = |random: &mut Random| match random.below(4) {
                0 => random.next(),
                _ => random.below(0x2_0100),
            };
            match random.below(6) {
                0 => bench.write(4 * random.below(0x50) as u32, random.next() as u32),
                1 => {
                    let (at, size) = (near(&mut random), near(&mut random) as u32);
                    let place = at.wrapping_sub(RAM);
                    let flags = random.below(8) as u16;
                    bench.descriptor(
                        number,
                        if at < RAM { at } else { place },
                        size,
                        flags,
                        random.below(9) as u16,
                    );
                }
                2 => bench.descriptor(number, HEADER, 16, NEXT, random.below(9) as u16),
                3 => bench.descriptor(number, STATUS, 1, DEVICE_WRITES, 0),
                _ => {
                    let newest = bench
                        .disk
                        .driver
                        .taken
                        .wrapping_add(random.below(12) as u16);
                    bench.put(ASKED + 2, &newest.to_le_bytes());
                    bench.write(0x50, 0);
                }
            }
        }
        broken += u32::from(bench.read(0x70) & STATUS_BROKEN != 0);
        bench.write(0x70, 0);
        assert_eq!(bench.read(0x70), 0);
        let state = bench.disk.save();
        assert!(Disk::new(RAM).restore(&state));
    }
    assert!(broken > 300, "{broken}");
}

#[test]
fn an_empty_place_says_that_there_is_no_device() {
    let mut disk = Disk::new(RAM);
    let (window, size, now) = (0, 4, Instant::default());
    let mut of = |offset| {
        disk.read(
            At {
                window,
                offset,
                size,
                now,
            },
            &mut Console::memory(),
        )
    };
    assert_eq!((of(0), of(8)), (Ok(MAGIC.into()), Ok(0)));
}

#[test]
fn a_driver_without_version_1_is_served_and_one_with_unknown_features_is_not() {
    let mut bench = Bench::new(vec![0; 512]);
    for (features, status) in [(0x206, 11), (0x100, 3)] {
        for (offset, value) in [
            (0x70, 0),
            (0x70, 3),
            (0x24, 0),
            (0x20, features),
            (0x70, 11),
        ] {
            bench.write(offset, value);
        }
        assert_eq!(bench.read(0x70), status, "{features:#x}");
    }
}
