package hindmost.hadoop;

/**
 * Checks and the entry point of main classes. Hadoop's threads outlive a failure, so a failed check must end the JVM.
 */
public final class Check {
  public interface Body {
    void run() throws Exception;
  }

  public interface Condition {
    boolean holds() throws Exception;
  }

  private Check() {}

  public static void that(boolean holds, String claim) {
    if (!holds) {
      throw new AssertionError(claim);
    }
  }

  public static void same(Object actual, Object expected, String name) {
    that(expected.equals(actual), name + ": " + actual + ", expected " + expected);
  }

  /** Wait until a condition holds, at most some seconds. */
  public static void await(String claim, int seconds, Condition condition) throws Exception {
    long started = System.nanoTime();
    while (!condition.holds()) {
      that(System.nanoTime() - started < seconds * 1_000_000_000L, claim + ": not within " + seconds + " s");
      Thread.sleep(50);
    }
  }

  /** Run the body of a main class, then end the JVM in any case. */
  public static void main(String name, Body body) {
    long started = System.nanoTime();
    int status = 0;
    try {
      body.run();
      System.out.printf("%s: held, %.1f s%n", name, (System.nanoTime() - started) / 1e9);
    } catch (Throwable failure) {
      failure.printStackTrace();
      System.out.printf("%s: FAILED: %s%n", name, failure);
      status = 1;
    }
    System.out.flush();
    Runtime.getRuntime().halt(status);
  }
}
