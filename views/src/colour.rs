//! Colours of frames. Those of packages are the same in every picture; `assets/format.js` computes the same for the page.

/// A colour by package: pale enough for dark text on it.
pub fn of_package(package: &str) -> String {
    let hash = hash(package);
    // Colours around the whole circle, but not the purple of matches.
    let hue = f64::from((hash % 270 + 330) % 360);
    let lightness = 0.70 + f64::from(hash / 270 % 5) * 0.025;
    hsl(hue, 0.50, lightness)
}

/// A colour by change: blue for less, red for more, told apart with every kind of colour vision; full at half and double.
pub fn of_change(before: u64, after: u64) -> String {
    if before == after {
        return hsl(0.0, 0.0, 0.87);
    }
    let ratio = ((after as f64 + 1.0) / (before as f64 + 1.0)).log2().clamp(-1.0, 1.0);
    let (hue, strength) = if ratio > 0.0 { (8.0, ratio) } else { (212.0, -ratio) };
    let strength: f64 = strength.powf(0.6);
    hsl(hue, 0.40 + 0.45 * strength, 0.89 - 0.25 * strength)
}

/// FNV-1a over UTF-16, which scripts have, too.
fn hash(text: &str) -> u32 {
    text.encode_utf16().fold(0x811c_9dc5, |h: u32, unit| (h ^ u32::from(unit)).wrapping_mul(0x0100_0193))
}

/// Hue in degrees, saturation and lightness from 0 to 1, as `#rrggbb`.
fn hsl(hue: f64, saturation: f64, lightness: f64) -> String {
    let spread = saturation * lightness.min(1.0 - lightness);
    let channel = |n: f64| {
        let k = (n + hue / 30.0) % 12.0;
        let value = lightness - spread * (k - 3.0).min(9.0 - k).clamp(-1.0, 1.0);
        (value * 255.0).round() as u8
    };
    format!("#{:02x}{:02x}{:02x}", channel(0.0), channel(8.0), channel(4.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_blue_or_red() {
        assert_eq!(hsl(0.0, 1.0, 0.5), "#ff0000");
        assert_eq!(hsl(120.0, 1.0, 0.25), "#008000");
        assert_eq!(of_change(5, 5), of_change(0, 0));
        assert_eq!(of_change(10, 1000), of_change(0, 7), "full at double");
        assert_ne!(of_change(100, 110), of_change(100, 150));
        assert_eq!(of_package("java.util"), of_package("java.util"));
        assert_ne!(of_package("java.util"), of_package("java.lang"));
    }
}
