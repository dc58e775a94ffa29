package hindmost.hadoop;

/** Claims of a main class. Threads of Hadoop outlive a failure: whoever fails has to end the JVM. */
public final class Check {
  public interface Body {
    void run() throws Exception;
  }

  public interface Awaited {
    boolean holds() throws Exception;
  }

  private Check() {}

  public static void that(boolean holds, String claim) {
    if (!holds) {
      throw new AssertionError(claim);
    }
  }

  public static void same(Object found, Object expected, String of) {
    that(expected.equals(found), of + ": " + found + ", expected " + expected);
  }

  /** Waits for what a cluster will do in its own time. */
  public static void await(String claim, int seconds, Awaited condition) throws Exception {
    long begun = System.nanoTime();
    while (!condition.holds()) {
      that(System.nanoTime() - begun < seconds * 1_000_000_000L, claim + ": not within " + seconds + " s");
      Thread.sleep(50);
    }
  }

  /** Runs all of a main class, and ends the JVM whatever happens. */
  public static void main(String name, Body body) {
    long begun = System.nanoTime();
    int status = 0;
    try {
      body.run();
      System.out.printf("%s: held, %.1f s%n", name, (System.nanoTime() - begun) / 1e9);
    } catch (Throwable failure) {
      failure.printStackTrace();
      System.out.printf("%s: FAILED: %s%n", name, failure);
      status = 1;
    }
    System.out.flush();
    Runtime.getRuntime().halt(status);
  }
}
