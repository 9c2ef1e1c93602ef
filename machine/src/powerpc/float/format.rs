//! The register form of floating-point values: single to double on a load, double to single on a
//! store (PEM appendix D.6, D.7). Neither rounds nor raises anything.

/// The register value that `lfs` loads.
pub fn double_from_single(single: u32) -> u64 {
    let sign = u64::from(single >> 31) << 63;
    let exponent = single >> 23 & 0xff;
    let fraction = u64::from(single & 0x007f_ffff);
    match exponent {
        0 if fraction == 0 => sign,
        0 => {
            // A denormalized single is a normalized double: fraction x 2^-149.
            let top = 63 - fraction.leading_zeros();
            let fraction = fraction << (52 - top) & 0x000f_ffff_ffff_ffff;
            sign | u64::from(top + 874) << 52 | fraction
        }
        255 => sign | 0x7ff << 52 | fraction << 29,
        _ => sign | u64::from(exponent + 896) << 52 | fraction << 29,
    }
}

/// The word that `stfs` stores.
pub fn single_from_double(double: u64) -> u32 {
    let exponent = (double >> 52 & 0x7ff) as u32;
    if exponent > 896 || double << 1 == 0 {
        return (double >> 32 & 0xc000_0000 | double >> 29 & 0x3fff_ffff) as u32;
    }
    let sign = (double >> 32) as u32 & 0x8000_0000;
    if exponent < 874 {
        // Undefined by the architecture; the value is too small for a single.
        return sign;
    }
    let fraction = (1 << 52 | double & 0x000f_ffff_ffff_ffff) >> (897 - exponent);
    sign | (fraction >> 29) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_single_is_the_double_of_the_same_value() {
        for single in [
            0u32,
            1,
            2,
            3,
            0x007f_ffff,
            0x0040_0000,
            0x0080_0000,
            0x3f80_0000,
            0x7f7f_ffff,
            0x7f80_0000,
            0x8000_0001,
            0xff80_0000,
        ] {
            let double = f64::from(f32::from_bits(single)).to_bits();
            assert_eq!(double_from_single(single), double, "{single:#x}");
            assert_eq!(single_from_double(double), single, "{single:#x}");
        }
    }

    #[test]
    fn signalling_nans_stay_signalling() {
        assert_eq!(double_from_single(0x7f80_0001), 0x7ff0_0000_2000_0000);
        assert_eq!(single_from_double(0x7ff0_0000_2000_0000), 0x7f80_0001);
    }
}
