package hindmost.hadoop;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.client.HdfsDataInputStream;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.hdfs.server.blockmanagement.HarvestPlacementPolicy;

/**
 * A day of primary tenants in compressed time, on real data nodes: ReplayMain FOLDER TENANTS SECONDS ARM...
 *
 * <p>TENANTS is a file of tenants with the hosts dn0.test, dn1.test, ... An arm is PLACEMENT/MODE/TRACE: "h" or
 * "stock", the mode of a busy node ("deny", ...), and a file with one line per host, "HOST SHARE SHARE ...", its
 * utilisation per slot. Under stock, busy nodes are not reported. Clients write and read files all the time, and now
 * and then a data node loses all its data. The program prints one line of JSON per arm about what readers and writers
 * observed.
 */
public final class ReplayMain {
  private static final int FILES = 150;
  private static final int READERS = 3;
  private static final int REIMAGES = 3;
  /** Pauses of a reader and a writer: the data nodes need time of the two cores. */
  private static final int READ_PAUSE_MILLIS = 15;
  private static final int WRITE_PAUSE_MILLIS = 400;

  /** Retry window of a client, compressed like the day; stock's is 3 s. */
  private static final int RETRY_MILLIS = 10;

  private final Cluster cluster;
  private final DistributedFileSystem reader;
  private final TenantsFile tenants;
  private final double seconds;
  private final AtomicInteger files = new AtomicInteger();

  private ReplayMain(Path folder, Path tenants, double seconds) throws IOException {
    Files.createDirectories(folder);
    Files.copy(tenants, folder.resolve("tenants.tsv"));
    this.tenants = TenantsFile.read(tenants);
    this.seconds = seconds;
    cluster = new Cluster(folder, this.tenants.hosts.size());
    Configuration conf = new Configuration(cluster.hdfs.getConf());
    conf.setInt("dfs.client.retry.window.base", RETRY_MILLIS);
    reader = (DistributedFileSystem) FileSystem.newInstance(cluster.hdfs.getUri(), conf);
  }

  public static void main(String[] arguments) {
    Check.main("replay", () -> {
      ReplayMain replay = new ReplayMain(Path.of(arguments[0]).toAbsolutePath(), Path.of(arguments[1]),
          Double.parseDouble(arguments[2]));
      for (String arm : Arrays.asList(arguments).subList(3, arguments.length)) {
        String[] fields = arm.split("/", 3);
        replay.arm(fields[0].equals("h"), fields[1], Path.of(fields[2]));
      }
    });
  }

  /**
   * One access: the numbers of its replicas and of those on busy nodes at its start, its duration, and whether it
   * failed.
   */
  private static final class Access {
    final int replicas;
    final int busy;
    final double millis;
    final boolean failed;

    Access(int replicas, int busy, double millis, boolean failed) {
      this.replicas = replicas;
      this.busy = busy;
      this.millis = millis;
      this.failed = failed;
    }
  }

  private void arm(boolean harvest, String mode, Path trace) throws Exception {
    List<String[]> loads = Files.readAllLines(trace).stream().map(line -> line.split(" ")).collect(Collectors.toList());
    for (String[] fields : loads) {
      cluster.setLoad(fields[0], "0");
    }
    Check.await("all are idle", 30, () -> loads.stream().noneMatch(fields -> monitor(fields[0]).busy()));
    Metrics.get().setData(mode);
    cluster.setPolicy(harvest ? HarvestPlacementPolicy.class : null);
    if (harvest) {
      BusyBoard.get().listen(null, cluster.boardPort, 5000, new byte[0]);
      Check.await("all hosts have reported", 30, () -> Metrics.get().getHeardHosts() == cluster.nodes);
    } else {
      BusyBoard.get().close();
    }
    Path name = Path.of("/" + (harvest ? "h" : "stock") + "-" + mode + "-" + trace.getFileName());
    List<org.apache.hadoop.fs.Path> written = new CopyOnWriteArrayList<>();
    for (int at = 0; at < FILES; at++) {
      write(name, written);
    }
    Check.await("all replicas are reported", 60, () -> leastReplicas(written) == Cluster.REPLICAS);
    int distinct = distinct(written);
    new Replay(name, written, distinct).run(loads);
    cluster.hdfs.delete(new org.apache.hadoop.fs.Path(name.toString()), true);
  }

  private BusyMonitor monitor(String host) {
    return BusyMonitor.forHost(host, cluster.hdfs.getConf());
  }

  private void write(Path folder, List<org.apache.hadoop.fs.Path> written) throws IOException {
    org.apache.hadoop.fs.Path path = new org.apache.hadoop.fs.Path(folder + "/" + files.getAndIncrement());
    cluster.write(path, Cluster.REPLICAS);
    written.add(path);
  }

  private int leastReplicas(List<org.apache.hadoop.fs.Path> paths) throws IOException {
    int least = Cluster.REPLICAS;
    for (org.apache.hadoop.fs.Path path : paths) {
      least = Math.min(least, cluster.locations(path).length);
    }
    return least;
  }

  /** Count the files whose replicas are on different tenants. */
  private int distinct(List<org.apache.hadoop.fs.Path> paths) throws IOException {
    int count = 0;
    for (org.apache.hadoop.fs.Path path : paths) {
      Set<String> owners = new HashSet<>();
      for (DatanodeInfo node : cluster.locations(path)) {
        owners.add(owner(node.getHostName()));
      }
      count += owners.size() == Cluster.REPLICAS ? 1 : 0;
    }
    return count;
  }

  private String owner(String host) {
    int server = tenants.names.number(host);
    return tenants.tenants.stream().filter(one -> Arrays.stream(one.servers).anyMatch(number -> number == server)).findFirst()
        .orElseThrow().name;
  }

  /** The day of one arm. */
  private final class Replay {
    private final Path name;
    private final List<org.apache.hadoop.fs.Path> written;
    private final int distinct;
    private final List<Access> reads = new CopyOnWriteArrayList<>();
    private final AtomicInteger writesFailed = new AtomicInteger();
    private final AtomicBoolean finished = new AtomicBoolean();
    private final List<Double> staleness = new ArrayList<>();
    private int lostReplicas;

    Replay(Path name, List<org.apache.hadoop.fs.Path> written, int distinct) {
      this.name = name;
      this.written = written;
      this.distinct = distinct;
    }

    void run(List<String[]> loads) throws Exception {
      long denied = Metrics.get().getDeniedReads();
      long deniedWrites = Metrics.get().getDeniedWrites();
      long throttled = Metrics.get().getThrottled();
      long served = Metrics.get().getServedBusy();
      long fallbacks = Metrics.get().getFallbacks();
      List<Thread> clients = new ArrayList<>();
      for (int at = 0; at < READERS; at++) {
        Random random = new Random(at);
        clients.add(new Thread(() -> repeat(READ_PAUSE_MILLIS, () -> read(random))));
      }
      clients.add(new Thread(() -> repeat(WRITE_PAUSE_MILLIS, this::write)));
      clients.add(new Thread(this::reimages));
      clients.forEach(Thread::start);
      double busy = day(loads);
      finished.set(true);
      for (Thread client : clients) {
        client.join(60_000);
        Check.that(!client.isAlive(), "each client ends");
      }
      for (String[] fields : loads) {
        cluster.setLoad(fields[0], "0");
      }
      Check.await("lost replicas are restored", 120, () -> cluster.settled() && leastReplicas(written) == Cluster.REPLICAS);
      int distinctAtEnd = distinct(written);
      Check.same(cluster.hdfs.getMissingBlocksCount() + cluster.hdfs.getCorruptBlocksCount(), 0L, "missing or corrupt");
      System.out.printf(Locale.ROOT, "{\"arm\": \"%s\", \"slots\": %d, \"busy\": %.3f, \"reads\": %d, \"failed\": %d, \"denied\": %d, "
              + "\"denied_writes\": %d, \"waited\": %d, \"served_busy\": %d, \"files\": %d, \"writes_failed\": %d, "
              + "\"apart_when_written\": %d, \"apart_in_the_end\": %d, \"lost_replicas\": %d, \"fallbacks\": %d, "
              + "\"staleness_ms\": %s, \"by_busy\": [%s]}%n",
          name.getFileName(), loads.get(0).length - 1, busy, reads.size(), count(reads),
          Metrics.get().getDeniedReads() - denied, Metrics.get().getDeniedWrites() - deniedWrites,
          Metrics.get().getThrottled() - throttled, Metrics.get().getServedBusy() - served, written.size(),
          writesFailed.get(), distinct, distinctAtEnd, lostReplicas, Metrics.get().getFallbacks() - fallbacks,
          quantiles(staleness.stream().mapToDouble(one -> one).toArray()), byBusy());
      System.out.flush();
    }

    /** Write each slot's loads into the hosts' files at its time; return the share of busy hosts and slots. */
    private double day(List<String[]> loads) throws Exception {
      int slots = loads.get(0).length - 1;
      int busy = 0;
      long started = System.nanoTime();
      for (int slot = 1; slot <= slots; slot++) {
        for (String[] fields : loads) {
          busy += Double.parseDouble(fields[slot]) > Keys.BUSY_ABOVE_DEFAULT ? 1 : 0;
          if (slot == 1 || !fields[slot].equals(fields[slot - 1])) {
            cluster.setLoad(fields[0], fields[slot]);
          }
        }
        Arrays.stream(BusyBoard.get().staleness()).forEach(staleness::add);
        long remainingNanos = started + (long) (slot * seconds / slots * 1e9) - System.nanoTime();
        Thread.sleep(Math.max(0, remainingNanos / 1_000_000));
      }
      return (double) busy / (slots * loads.size());
    }

    private void repeat(int pauseMillis, Check.Body body) {
      try {
        while (!finished.get()) {
          body.run();
          Thread.sleep(pauseMillis);
        }
      } catch (Throwable failure) { // without this client the day would have no accesses
        failure.printStackTrace();
        System.out.println("replay: FAILED: " + failure);
        System.out.flush();
        Runtime.getRuntime().halt(1);
      }
    }

    private void read(Random random) throws IOException {
      org.apache.hadoop.fs.Path path = written.get(random.nextInt(written.size()));
      long started = System.nanoTime();
      int replicas = 0;
      int busy = 0;
      boolean failed = false;
      try (FSDataInputStream in = reader.open(path)) {
        for (LocatedBlock block : ((HdfsDataInputStream) in).getAllBlocks()) {
          for (DatanodeInfo node : block.getLocations()) {
            replicas++;
            busy += monitor(node.getHostName()).busy() ? 1 : 0;
          }
        }
        in.readFully(0, new byte[100]);
      } catch (IOException denied) {
        failed = true;
      }
      reads.add(new Access(replicas, busy, (System.nanoTime() - started) / 1e6, failed));
    }

    private void write() {
      try {
        ReplayMain.this.write(name, written);
      } catch (IOException denied) {
        writesFailed.incrementAndGet();
      }
    }

    /** Let data nodes lose all their data, evenly over the day. */
    private void reimages() {
      Random random = new Random(1);
      try {
        for (int at = 1; at <= REIMAGES && !finished.get(); at++) {
          Thread.sleep((long) (seconds / (REIMAGES + 1) * 1000));
          int host = random.nextInt(cluster.nodes);
          for (org.apache.hadoop.fs.Path path : written) {
            lostReplicas += Arrays.stream(cluster.locations(path)).anyMatch(one -> Cluster.number(one) == host) ? 1 : 0;
          }
          cluster.reimage(host);
        }
      } catch (Throwable failure) {
        failure.printStackTrace();
        System.out.println("replay: FAILED: " + failure);
        System.out.flush();
        Runtime.getRuntime().halt(1);
      }
    }

    /**
     * Format reads, failures (also of blocks with fewer than three replicas) and latencies by the number of busy
     * replicas.
     */
    private String byBusy() {
      List<String> rows = new ArrayList<>();
      for (int busy = 0; busy <= Cluster.REPLICAS; busy++) {
        int busyReplicas = busy;
        List<Access> all = reads.stream().filter(one -> one.busy == busyReplicas).collect(Collectors.toList());
        rows.add(String.format(Locale.ROOT, "{\"reads\": %d, \"failed\": %d, \"failed_of_fewer\": %d, \"answered_ms\": %s, "
            + "\"failed_ms\": %s}", all.size(), count(all), all.stream().filter(one -> one.failed
            && one.replicas < Cluster.REPLICAS).count(), quantiles(millis(all, false)), quantiles(millis(all, true))));
      }
      return String.join(", ", rows);
    }
  }

  private static long count(List<Access> all) {
    return all.stream().filter(one -> one.failed).count();
  }

  private static double[] millis(List<Access> all, boolean failed) {
    return all.stream().filter(one -> one.failed == failed).mapToDouble(one -> one.millis).toArray();
  }

  /** Format median, 99th percentile and maximum as JSON. */
  private static String quantiles(double[] all) {
    if (all.length == 0) {
      return "null";
    }
    double[] sorted = all.clone();
    Arrays.sort(sorted);
    return String.format(Locale.ROOT, "[%.1f, %.1f, %.1f]", sorted[sorted.length / 2], sorted[sorted.length * 99 / 100],
        sorted[sorted.length - 1]);
  }
}
