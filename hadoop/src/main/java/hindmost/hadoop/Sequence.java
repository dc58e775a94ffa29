package hindmost.hadoop;

/** Draws in a row under one seed: SplitMix64, as crates/harvest/src/sequence.rs has it. */
public final class Sequence {
  private static final long STEP = 0x9e3779b97f4a7c15L;
  private long state;

  public Sequence(long seed) {
    state = seed;
  }

  public long word() {
    state += STEP;
    long z = state;
    z = (z ^ (z >>> 30)) * 0xbf58476d1ce4e5b9L;
    z = (z ^ (z >>> 27)) * 0x94d049bb133111ebL;
    return z ^ (z >>> 31);
  }

  /** A number below n. */
  public int below(int n) {
    return below(word(), n);
  }

  /** The upper half of the 96-bit product of a word and n. */
  static int below(long word, int n) {
    long low = (word & 0xffffffffL) * n;
    return (int) (((word >>> 32) * n + (low >>> 32)) >>> 32);
  }

  /** A number in [0, 1) with 53 random bits. */
  public double unit() {
    return (word() >>> 11) * 0x1.0p-53;
  }

  /** An index in proportion to weights, none of them negative; -1 where all are 0. */
  public int weighted(double[] weights) {
    double total = 0;
    for (double weight : weights) {
      total += weight;
    }
    if (total <= 0) {
      return -1;
    }
    double left = unit() * total;
    for (int at = 0; at < weights.length; at++) {
      if (weights[at] > 0 && left < weights[at]) {
        return at;
      }
      left -= weights[at];
    }
    // Rounding took more than there was: the last that has weight.
    for (int at = weights.length - 1; at >= 0; at--) {
      if (weights[at] > 0) {
        return at;
      }
    }
    return -1;
  }
}
