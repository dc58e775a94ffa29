package hindmost.hadoop;

import java.util.ArrayList;
import java.util.List;

/** Algorithm 1: selects the classes on whose servers a job should run, as crates/harvest/src/select.rs does. */
public final class Selector {
  public enum Length { SHORT, MEDIUM, LONG }

  public enum Pattern { PERIODIC, CONSTANT, UNPREDICTABLE }

  /** The current state of one class. */
  public static final class ClassState {
    final Pattern pattern;
    final double mean;
    final double peak;
    final double now;
    final double capacity;

    public ClassState(Pattern pattern, double mean, double peak, double now, double capacity) {
      this.pattern = pattern;
      this.mean = mean;
      this.peak = peak;
      this.now = now;
      this.capacity = capacity;
    }
  }

  /** Weights of patterns by length of job. The paper gives the order; here each rank weighs three times the next. */
  private static final double[][] WEIGHTS = {{3, 1, 9}, {9, 3, 1}, {3, 9, 1}};

  private Selector() {}

  /** Return what a job of some length may use of a class, as a share of its servers. */
  public static double headroom(Length length, ClassState state) {
    double used = length == Length.SHORT ? state.now
        : Math.max(length == Length.MEDIUM ? state.mean : state.peak, state.now);
    return Math.max(1 - used, 0);
  }

  /** Return the weight of a pattern for a length of job: jobs prefer a greater one. */
  static double rank(Length length, Pattern pattern) {
    return WEIGHTS[length.ordinal()][pattern.ordinal()];
  }

  /** Select one class that can hold the job; otherwise several that can hold it together; otherwise none. */
  public static int[] select(Length length, double demand, List<ClassState> states, Sequence random) {
    int n = states.size();
    double[] available = new double[n];
    double[] weight = new double[n];
    double[] fitting = new double[n];
    double all = 0;
    for (int at = 0; at < n; at++) {
      available[at] = headroom(length, states.get(at)) * states.get(at).capacity;
      weight[at] = available[at] * rank(length, states.get(at).pattern);
      fitting[at] = available[at] >= demand ? weight[at] : 0;
      all += available[at];
    }
    int one = random.weighted(fitting);
    if (one >= 0) {
      return new int[] {one};
    }
    List<Integer> picked = new ArrayList<>();
    for (double total = 0; all >= demand && total < demand;) {
      int next = random.weighted(weight);
      if (next < 0) {
        break;
      }
      total += available[next];
      weight[next] = 0;
      picked.add(next);
    }
    return picked.stream().mapToInt(at -> at).toArray();
  }
}
