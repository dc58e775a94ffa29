package hindmost.hadoop;

/** A sequence of random numbers from one seed: SplitMix64, the same as crates/harvest/src/sequence.rs. */
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

  /** Draw a number below n. */
  public int below(int n) {
    return below(word(), n);
  }

  /** Return the upper half of the 96-bit product of a word and n. */
  static int below(long word, int n) {
    long low = (word & 0xffffffffL) * n;
    return (int) (((word >>> 32) * n + (low >>> 32)) >>> 32);
  }

  /** Draw a number in [0, 1) with 53 random bits. */
  public double unit() {
    return (word() >>> 11) * 0x1.0p-53;
  }

  /** Draw an index with probability proportional to its weight; weights are not negative; -1 if all are 0. */
  public int weighted(double[] weights) {
    double total = 0;
    for (double weight : weights) {
      total += weight;
    }
    if (total <= 0) {
      return -1;
    }
    double rest = unit() * total;
    for (int at = 0; at < weights.length; at++) {
      if (weights[at] > 0 && rest < weights[at]) {
        return at;
      }
      rest -= weights[at];
    }
    // Rounding left a remainder: return the last index with a weight.
    for (int at = weights.length - 1; at >= 0; at--) {
      if (weights[at] > 0) {
        return at;
      }
    }
    return -1;
  }
}
