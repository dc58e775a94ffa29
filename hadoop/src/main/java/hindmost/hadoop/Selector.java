package hindmost.hadoop;

import java.util.ArrayList;
import java.util.List;

/** Algorithm 1: the classes on whose servers a job should run, as crates/harvest/src/select.rs chooses them. */
public final class Selector {
  public enum Length { SHORT, MEDIUM, LONG }

  public enum Pattern { PERIODIC, CONSTANT, UNPREDICTABLE }

  /** One class as it is now. */
  public static final class Room {
    final Pattern pattern;
    final double mean;
    final double peak;
    final double now;
    final double capacity;

    public Room(Pattern pattern, double mean, double peak, double now, double capacity) {
      this.pattern = pattern;
      this.mean = mean;
      this.peak = peak;
      this.now = now;
      this.capacity = capacity;
    }
  }

  /** Rank of patterns by length of job: the paper gives the order, each rank here weighs three times the next. */
  private static final double[][] WEIGHTS = {{3, 1, 9}, {9, 3, 1}, {3, 9, 1}};

  private Selector() {}

  /** What a job of some length may count on in a class, as a share of its servers. */
  public static double headroom(Length length, Room room) {
    double used = length == Length.SHORT ? room.now
        : Math.max(length == Length.MEDIUM ? room.mean : room.peak, room.now);
    return Math.max(1 - used, 0);
  }

  /** What a length of job makes of a pattern: the greater, the sooner it goes there. */
  static double rank(Length length, Pattern pattern) {
    return WEIGHTS[length.ordinal()][pattern.ordinal()];
  }

  /** One class that holds the job where there is one, else several that do together, else none. */
  public static int[] select(Length length, double wants, List<Room> rooms, Sequence random) {
    int n = rooms.size();
    double[] has = new double[n];
    double[] weight = new double[n];
    double[] fitting = new double[n];
    double all = 0;
    for (int at = 0; at < n; at++) {
      has[at] = headroom(length, rooms.get(at)) * rooms.get(at).capacity;
      weight[at] = has[at] * rank(length, rooms.get(at).pattern);
      fitting[at] = has[at] >= wants ? weight[at] : 0;
      all += has[at];
    }
    int one = random.weighted(fitting);
    if (one >= 0) {
      return new int[] {one};
    }
    List<Integer> picked = new ArrayList<>();
    for (double together = 0; all >= wants && together < wants;) {
      int next = random.weighted(weight);
      if (next < 0) {
        break;
      }
      together += has[next];
      weight[next] = 0;
      picked.add(next);
    }
    return picked.stream().mapToInt(at -> at).toArray();
  }
}
