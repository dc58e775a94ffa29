//! The image crate: JPEG images of several sizes are decoded, some are resized, and some are encoded again.

use std::io::Cursor;
use std::path::Path;

use image::codecs::jpeg::{JpegDecoder, JpegEncoder};
use image::imageops::{self, FilterType};
use image::{DynamicImage, ImageResult, Rgb, RgbImage};
use rand_pcg::Pcg64;

use crate::program::{Fault, Outcome, Program, Worker};
use crate::random::{self, below, choose, log_uniform, Purpose};

const KINDS: &[&str] = &["decode", "thumbnail", "resize"];
const SHARES: &[f64] = &[0.40, 0.45, 0.15];
/// Number of stored images; each request uses one of them.
const IMAGES: usize = 60;
const QUALITY: u8 = 85;

struct Images {
    files: Vec<Vec<u8>>,
}

struct Session<'a> {
    files: &'a [Vec<u8>],
    written: Vec<u8>,
}

/// Paint the images.
pub fn make(seed: u64, _: &Path) -> Result<Box<dyn Program>, Fault> {
    let mut random = random::generator_of_purpose(seed, Purpose::Build);
    let files = (0..IMAGES).map(|_| encode(&paint(&mut random), Vec::new())).collect::<ImageResult<_>>()?;
    Ok(Box::new(Images { files }))
}

/// Paint waves of colour with discs and some grain: smooth and rough parts, as in photographs.
fn paint(random: &mut Pcg64) -> RgbImage {
    let width = log_uniform(random, 64.0, 400.0);
    let height = width * (0.6 + 0.4 * random::unit(random));
    let waves: Vec<[f64; 3]> = (0..6).map(|_| std::array::from_fn(|_| random::unit(random) * 12.0)).collect();
    let discs: Vec<[f64; 4]> = (0..8).map(|_| std::array::from_fn(|_| random::unit(random))).collect();
    RgbImage::from_fn(width as u32, height as u32, |x, y| {
        let (x, y) = (f64::from(x) / width, f64::from(y) / height);
        let grain = random::unit(random) * 16.0;
        let within = |disc: &&[f64; 4]| (disc[0] - x).hypot(disc[1] - y) < disc[2] * 0.2;
        let light = discs.iter().filter(within).map(|disc| disc[3] * 60.0).sum::<f64>();
        Rgb(std::array::from_fn(|channel| {
            let [across, down, phase] = waves[channel * 2];
            let [left, up, shift] = waves[channel * 2 + 1];
            let wave = (across * x + down * y + phase).sin() + (up * y - left * x + shift).cos();
            (90.0 + 35.0 * wave + light + grain).clamp(0.0, 255.0) as u8
        }))
    })
}

fn encode(image: &RgbImage, mut file: Vec<u8>) -> ImageResult<Vec<u8>> {
    file.clear();
    JpegEncoder::new_with_quality(&mut file, QUALITY).encode_image(image)?;
    Ok(file)
}

impl Program for Images {
    fn kinds(&self) -> &'static [&'static str] {
        KINDS
    }

    fn worker(&self) -> Result<Box<dyn Worker + '_>, Fault> {
        Ok(Box::new(Session { files: &self.files, written: Vec::new() }))
    }
}

impl Session<'_> {
    fn process(&mut self, kind: usize, random: &mut Pcg64) -> ImageResult<u64> {
        let file = &self.files[below(random, IMAGES)];
        let image = DynamicImage::from_decoder(JpegDecoder::new(Cursor::new(file))?)?.into_rgb8();
        let (width, height) = image.dimensions();
        let made = match kind {
            0 => image,
            1 => imageops::thumbnail(&image, 64, (64 * height / width).max(1)),
            _ => {
                let share = 0.3 + 0.5 * random::unit(random);
                let side = |length: u32| ((f64::from(length) * share) as u32).max(1);
                imageops::resize(&image, side(width), side(height), FilterType::Triangle)
            }
        };
        if kind == 0 {
            return Ok(made.as_raw().iter().step_by(97).map(|byte| u64::from(*byte)).sum());
        }
        self.written = encode(&made, std::mem::take(&mut self.written))?;
        Ok(self.written.len() as u64 * 256 + u64::from(self.written[self.written.len() / 2]))
    }
}

impl Worker for Session<'_> {
    fn serve(&mut self, random: &mut Pcg64) -> Outcome {
        let kind = choose(random, SHARES);
        let digest = self.process(kind, random).expect("images that were encoded here can be decoded");
        Outcome { kind, digest }
    }
}
